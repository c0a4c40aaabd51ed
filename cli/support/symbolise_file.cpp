// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Looks addresses up in the symbol tables, line tables and scopes of a file.
#include "cli/support/symbolise_file.hpp"

#include <filesystem>

#include <elfutils/libdwelf.h>
#include <fmt/format.h>

#include "cli/routes/build_id.hpp"
#include "cli/support/symbolise_name.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

const Dwfl_Callbacks callbacks = {&dwfl_build_id_find_elf, &dwfl_standard_find_debuginfo, nullptr, nullptr};

bool is_there(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error);
}

bool has_section(Elf* elf, std::string_view name) {
  std::size_t names = 0;
  if (elf == nullptr || ::elf_getshdrstrndx(elf, &names) != 0) return false;
  for (Elf_Scn* section = ::elf_nextscn(elf, nullptr); section != nullptr; section = ::elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (::gelf_getshdr(section, &header) == nullptr) continue;
    const char* const found = ::elf_strptr(elf, names, header.sh_name);
    if (found != nullptr && found == name) return true;
  }
  return false;
}

/// Returns: the place in the source of an address of a unit; empty and 0 if it has none.
std::pair<std::string, int> source_of(const debug_unit& unit, std::uint64_t address) {
  Dwarf_Line* const source = unit.die == nullptr ? nullptr : ::dwarf_getsrc_die(unit.die, address - unit.bias);
  const char* const file = source == nullptr ? nullptr : ::dwarf_linesrc(source, nullptr, nullptr);
  int line = 0;
  if (file == nullptr || ::dwarf_lineno(source, &line) != 0) return {};
  return {fs::path(file).filename().string(), line};
}

}  // namespace

/// Addresses in it are those in the file.
struct named_file::tables {
  explicit tables(const std::string& path)
      : session(::dwfl_begin(&callbacks), &::dwfl_end), module(report(path)), symbols(module), units(module) {}

  Dwfl_Module* report(const std::string& path) {
    if (session == nullptr) return nullptr;
    ::dwfl_report_begin(session.get());
    Dwfl_Module* const found = ::dwfl_report_elf(session.get(), path.c_str(), path.c_str(), -1, 0, true);
    ::dwfl_report_end(session.get(), nullptr, nullptr);
    return found;
  }

  std::unique_ptr<Dwfl, void (*)(Dwfl*)> session;
  Dwfl_Module* module;
  symbol_index symbols;
  debug_units units;
};

named_file::named_file(const std::string& path, const std::string& build_id)
    : path_(path), name_(fs::path(path).filename().string()) {
  const std::string now = build_id.empty() ? "" : build_id_of(path);
  is_other_build_ = !now.empty() && now != build_id;
  if (is_other_build_) name_ += " (another build)";
  else tables_ = std::make_unique<tables>(path);
}

named_file::~named_file() = default;

const std::vector<source_place>& named_file::places(std::uint64_t return_address) {
  const auto [at, is_new] = known_.try_emplace(return_address);
  if (is_new) at->second = find(return_address - 1);
  return at->second;
}

std::vector<source_place> named_file::find(std::uint64_t address) {
  source_place place;
  place.module = name_;
  place.function = name_.empty() ? fmt::format("{:#x}", address) : fmt::format("{}+{:#x}", name_, address);
  if (tables_ == nullptr || tables_->module == nullptr) return {place};
  if (const char* const symbol = tables_->symbols.at(address)) {
    place.function = short_function_name(symbol);
    place.whole = whole_function_name(symbol);
  }
  const debug_unit unit = tables_->units.at(address);
  std::tie(place.file, place.line) = source_of(unit, address);
  return unit.die == nullptr ? std::vector{place} : with_inlined(tables_->units, unit, address, place);
}

std::string named_file::note() const {
  if (is_other_build_) return path_ + " holds another build than the recorded one: its sites are shown as offsets.";
  if (tables_ == nullptr || tables_->module == nullptr) return {};
  const std::string unread = unread_part();
  if (!unread.empty())
    return fmt::format("{}: lines, names and inlined calls may be missing, since {}.", path_, unread);
  const std::string& missing = tables_->units.missing_file();
  if (missing.empty()) return {};
  const std::string package = path_ + ".dwp";
  return fmt::format("{}: inlined calls are not shown, since their debug information is in {}.", path_,
                     is_there(package)   ? package + ", which the libdw of this command does not read"
                     : is_there(missing) ? missing + ", which libdw cannot read, or is of another build"
                                         : missing + ", which is not there");
}

std::string named_file::unread_part() const {
  GElf_Addr bias = 0;
  Dwarf* const debug = ::dwfl_module_getdwarf(tables_->module, &bias);
  const std::string error = debug == nullptr ? ::dwfl_errmsg(-1) : "";
  Elf* const elf = ::dwfl_module_getelf(tables_->module, &bias);
  const bool has_units = has_section(elf, ".debug_info") || has_section(elf, ".zdebug_info");
  if (debug == nullptr && has_units) return "libdw cannot read its debug information: " + error;
  if (debug == nullptr && has_section(elf, ".stab"))
    return "libdw does not read stabs, the form of its debug information";
  if (!has_units && has_section(elf, ".debug_line")) return "its debug information lacks the section .debug_info";
  const char* rest = nullptr;
  const void* id = nullptr;
  if (debug != nullptr && ::dwelf_dwarf_gnu_debugaltlink(debug, &rest, &id) > 0 && ::dwarf_getalt(debug) == nullptr)
    return fmt::format("a part of its debug information is in {}, which is not there", rest);
  const std::string fault = tables_->units.fault();
  return fault.empty() ? "" : "libdw cannot read the " + fault + " of its debug information";
}

}  // namespace ashlar::cli
