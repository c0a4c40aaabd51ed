// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Looks addresses up in the symbol tables and line tables of the recorded program's modules.
#include "cli/support/symbolise.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include "cli/support/symbolise_inlined.hpp"
#include "cli/support/symbolise_name.hpp"
#include "cli/support/symbolise_units.hpp"

namespace ashlar::cli {

namespace {

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

void name_function(source_place& place, const char* symbol) {
  place.function = short_function_name(symbol);
  place.whole = whole_function_name(symbol);
}

const Dwfl_Callbacks callbacks = {&dwfl_build_id_find_elf, &dwfl_standard_find_debuginfo, nullptr, nullptr};

}  // namespace

std::string source_place::str() const {
  if (line != 0) return fmt::format("{} ({}:{})", function, file, line);
  return function.find("+0x") == function.npos ? fmt::format("{} ({})", function, module) : function;
}

bool is_library_place(const source_place& place) {
  static constexpr std::array<std::string_view, 24> functions = {
      "malloc",         "calloc",     "realloc",         "reallocarray",      "aligned_alloc",  "memalign",
      "posix_memalign", "valloc",     "pvalloc",         "operator new",      "operator new[]", "free",
      "cfree",          "free_sized", "operator delete", "operator delete[]", "__libc_malloc",  "__libc_calloc",
      "__libc_realloc", "strdup",     "__strdup",        "strndup",           "__strndup",      "vasprintf"};
  const std::string& f = place.function;
  if (f.starts_with("std::") || f.starts_with("__gnu_cxx::")) return true;
  if (place.module.starts_with("libstdc++.") || place.module.starts_with("libc++.")) return true;
  if (place.module.starts_with("libashlar") && place.module.ends_with(".so")) return true;
  return std::find(functions.begin(), functions.end(), f) != functions.end();
}

struct symboliser::session {
  explicit session(const std::vector<trace::mapped_module>& m)
      : modules(m), dwfl(::dwfl_begin(&callbacks), &::dwfl_end) {
    if (dwfl == nullptr) return;
    std::set<std::pair<std::string, std::uint64_t>> seen;  // a file is mapped in several pieces
    ::dwfl_report_begin(dwfl.get());
    for (const trace::mapped_module& module : modules)
      if (seen.emplace(module.path, module.bias).second)
        ::dwfl_report_elf(dwfl.get(), module.path.c_str(), module.path.c_str(), -1, module.bias, true);
    ::dwfl_report_end(dwfl.get(), nullptr, nullptr);
  }

  [[nodiscard]] source_place look_up(std::uint64_t address) {
    source_place place;
    if (const trace::mapped_module* module = trace::find_module(modules, address)) {
      place.module = file_name(module->path);
      place.function = fmt::format("{}+{:#x}", place.module, address - module->bias);
    } else {
      place.function = fmt::format("{:#x}", address);
    }
    if (Dwfl_Module* module = dwfl == nullptr ? nullptr : ::dwfl_addrmodule(dwfl.get(), address))
      describe(module, address, place);
    return place;
  }

  void describe(Dwfl_Module* module, std::uint64_t address, source_place& place) {
    GElf_Off offset = 0;
    GElf_Sym symbol;
    if (const char* name = ::dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr))
      name_function(place, name);
    const debug_unit unit = units.at(module, address);
    Dwarf_Line* const source = unit.die == nullptr ? nullptr : ::dwarf_getsrc_die(unit.die, address - unit.bias);
    const char* const file = source == nullptr ? nullptr : ::dwarf_linesrc(source, nullptr, nullptr);
    if (file == nullptr || ::dwarf_lineno(source, &place.line) != 0) return;
    place.file = file_name(file);
  }

  const std::vector<trace::mapped_module>& modules;
  std::unique_ptr<Dwfl, void (*)(Dwfl*)> dwfl;
  std::unordered_map<std::uint64_t, std::vector<source_place>> known;  // by return address
  debug_units units;
};

symboliser::symboliser(const std::vector<trace::mapped_module>& modules)
    : session_(std::make_unique<session>(modules)) {}
symboliser::~symboliser() = default;

std::vector<source_place> symboliser::inlined_places(std::uint64_t return_address) const {
  const std::uint64_t address = return_address - 1;
  const source_place outermost = session_->look_up(address);
  Dwfl_Module* module = session_->dwfl == nullptr ? nullptr : ::dwfl_addrmodule(session_->dwfl.get(), address);
  if (module == nullptr) return {outermost};
  const debug_unit unit = session_->units.at(module, address);
  return unit.die == nullptr ? std::vector{outermost} : with_inlined(session_->units, unit, address, outermost);
}

std::vector<source_place> symboliser::calls(std::span<const std::uint64_t> frames) {
  std::vector<source_place> all;
  for (const std::uint64_t frame : frames) {
    const auto [at, is_new] = session_->known.try_emplace(frame);
    if (is_new) at->second = inlined_places(frame);
    all.insert(all.end(), at->second.begin(), at->second.end());
  }
  const auto request = std::find_if_not(all.begin(), all.end(), is_library_place);
  if (request != all.end()) all.erase(all.begin(), request);
  return all;
}

}  // namespace ashlar::cli
