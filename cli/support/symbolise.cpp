// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the file of an address, looks it up in the symbol tables, line tables and scopes there, and finds the program's
// part of a stack.
#include "cli/support/symbolise.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <queue>
#include <tuple>

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include "cli/support/elf_file.hpp"
#include "cli/support/function_names.hpp"
#include "cli/support/symbolise_units.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

struct symbol {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< Of a label: the end of its section.
  const char* name = nullptr;
  bool is_label = false;  ///< It has no size.
  bool is_local = false;
  int binding = 0;  ///< The stronger, the greater.
  int number = 0;   ///< In the table.
};

/// Of two symbols that span an address, the one of the lower rank names it.
auto rank(const symbol& s) { return std::tuple(s.is_local, ~s.begin, -s.binding, s.end - s.begin, s.number); }

int strength(const GElf_Sym& symbol) {
  switch (GELF_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL: return 3;
    case STB_WEAK: return 2;
    case STB_LOCAL: return 1;
    default: return 0;
  }
}

bool has_no_code(const GElf_Sym& symbol) {
  const int type = GELF_ST_TYPE(symbol.st_info);
  return symbol.st_shndx == SHN_UNDEF || type == STT_SECTION || type == STT_FILE || type == STT_TLS;
}

/// Returns: the end of a section, as an address less the bias of its file; 0 if there is no such section.
std::uint64_t section_end(Elf* elf, std::size_t section) {
  GElf_Shdr header;
  Elf_Scn* const found = section >= SHN_LORESERVE ? nullptr : ::elf_getscn(elf, section);
  return found == nullptr || ::gelf_getshdr(found, &header) == nullptr ? 0 : header.sh_addr + header.sh_size;
}

std::vector<symbol> read_symbols(Dwfl_Module* module) {
  const int count = std::max(::dwfl_module_getsymtab(module), 0);
  std::vector<symbol> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 1; i < count; ++i) {
    GElf_Sym entry;
    GElf_Addr begin = 0;
    GElf_Word section = 0;
    Elf* elf = nullptr;
    Dwarf_Addr bias = 0;
    const char* const name = ::dwfl_module_getsym_info(module, i, &entry, &begin, &section, &elf, &bias);
    if (name == nullptr || *name == '\0' || has_no_code(entry)) continue;
    const bool is_label = entry.st_size == 0;
    const std::uint64_t end = is_label ? section_end(elf, section) + bias : begin + entry.st_size;
    if (end > begin) all.push_back({begin, end, name, is_label, strength(entry) == 1, strength(entry), i});
  }
  std::sort(all.begin(), all.end(), [](const symbol& a, const symbol& b) {
    return std::tuple(a.begin, a.is_label, a.is_local, a.number) <
           std::tuple(b.begin, b.is_label, b.is_local, b.number);
  });
  return all;
}

/// Effects: ends each label where the next symbol begins; one inside of a symbol, and the second one at its place, are
/// empty. Expects: `all` is in order.
void end_labels(std::vector<symbol>& all) {
  std::uint64_t spanned = 0, next = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = all.size(); i-- > 0;) {
    if (i + 1 != all.size() && all[i + 1].begin != all[i].begin) next = all[i + 1].begin;
    if (all[i].is_label) all[i].end = std::min(all[i].end, next);
  }
  for (symbol& each : all) {
    if (each.is_label && each.begin < spanned) each.end = each.begin;
    spanned = std::max(spanned, each.is_label ? each.begin + 1 : each.end);
  }
}

/// The symbols of a file, in order of their addresses: the tables are walked once, however many addresses are looked
/// up.
///
///     outer  [--------------------)            an address has the name of the innermost symbol with it
///     inner       [-----)
///     at     outer inner    outer  none
class symbol_index {
public:
  /// Reads the symbol tables of the file, of its debug information and the compressed one. `module` outlives this.
  /// Complexity: O(n log n), of the symbols.
  explicit symbol_index(Dwfl_Module* module);

  /// Returns: the symbol that spans `address`, a global one before a local one, then the innermost, then of its aliases
  /// the first one of the strongest binding; else the label without size before it in its section; else null.
  /// Complexity: O(log n).
  [[nodiscard]] const char* at(std::uint64_t address) const;

private:
  /// The symbols that span the address reached, the one that names it first.
  using active_symbols =
      std::priority_queue<const symbol*, std::vector<const symbol*>, bool (*)(const symbol*, const symbol*)>;

  void end_before(std::uint64_t address, active_symbols& active);
  void name_from(std::uint64_t address, const active_symbols& active);

  std::vector<std::pair<std::uint64_t, const char*>> names_;  // from an address up to the next one; null: none
};

symbol_index::symbol_index(Dwfl_Module* module) {
  std::vector<symbol> symbols = read_symbols(module);
  end_labels(symbols);
  active_symbols active([](const symbol* a, const symbol* b) {
    return std::pair(b->is_label, rank(*b)) < std::pair(a->is_label, rank(*a));
  });
  names_.reserve(symbols.size());
  for (const symbol& each : symbols) {
    if (each.begin >= each.end) continue;
    end_before(each.begin, active);
    active.push(&each);
    name_from(each.begin, active);
  }
  end_before(std::numeric_limits<std::uint64_t>::max(), active);
}

/// Effects: ends the names of the active symbols up to `address`.
void symbol_index::end_before(std::uint64_t address, active_symbols& active) {
  while (!active.empty() && active.top()->end <= address) {
    const std::uint64_t end = active.top()->end;
    while (!active.empty() && active.top()->end <= end) active.pop();
    name_from(end, active);
  }
}

void symbol_index::name_from(std::uint64_t address, const active_symbols& active) {
  const char* const name = active.empty() ? nullptr : active.top()->name;
  if (!names_.empty() && names_.back().first == address) names_.back().second = name;
  else if (names_.empty() || names_.back().second != name) names_.emplace_back(address, name);
}

const char* symbol_index::at(std::uint64_t address) const {
  const auto above = std::ranges::upper_bound(names_, address, {}, [](const auto& each) { return each.first; });
  return above == names_.begin() ? nullptr : std::prev(above)->second;
}

const Dwfl_Callbacks callbacks = {&dwfl_build_id_find_elf, &dwfl_standard_find_debuginfo, nullptr, nullptr};

bool is_in_place(const fs::path& file) {
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
  return {file, line};
}

constexpr std::uintmax_t most_source_bytes = 16 << 20;
constexpr std::size_t most_code = 120;  // columns

/// Returns: whether the source can be the one that the module was built of: it is not newer.
bool is_source_of(const fs::path& source, const fs::path& module) {
  std::error_code error;
  if (!source.is_absolute() || !fs::is_regular_file(source, error)) return false;
  if (fs::file_size(source, error) > most_source_bytes) return false;
  const auto changed = fs::last_write_time(source, error);
  return !error && changed <= fs::last_write_time(module, error) && !error;
}

/// Returns: the machine code of the function around an address, by the unwind tables, which stripped files have too; 0
/// and 0 if it has no entry there.
std::pair<std::uint64_t, std::uint64_t> code_of(Dwfl_Module* module, std::uint64_t address) {
  Dwarf_Addr bias = 0, begin = 0, end = 0;
  Dwarf_CFI* const tables = ::dwfl_module_eh_cfi(module, &bias);
  Dwarf_Frame* found = nullptr;
  if (tables == nullptr || ::dwarf_cfi_addrframe(tables, address - bias, &found) != 0) return {};
  const std::unique_ptr<Dwarf_Frame, void (*)(void*)> frame(found, std::free);
  if (::dwarf_frame_info(found, &begin, &end, nullptr) < 0) return {};
  return {begin + bias, end + bias};
}

}  // namespace

/// The names of the addresses in one file. Thread safety: one thread at a time.
class named_file {
public:
  /// Effects: reads the file's tables. `build_id` is the recorded one; empty if it is unknown.
  named_file(const std::string& path, const std::string& build_id)
      : path_(path), name_(fs::path(path).filename().string()) {
    const std::string now = build_id.empty() ? "" : build_id_of(path);
    is_other_build_ = !now.empty() && now != build_id;
    if (is_other_build_) name_ += " (another build)";
    else tables_.emplace(path);
  }

  /// Returns: as `symboliser::places`. Complexity: O(log n) for a new address, of symbols and of units.
  [[nodiscard]] const std::vector<source_place>& places(std::uint64_t return_address) {
    const auto [at, is_new] = known_.try_emplace(return_address);
    if (is_new) at->second = find(return_address - 1);
    return at->second;
  }

  /// Returns: the reason why names are missing or incomplete; empty if there is none.
  [[nodiscard]] std::string note() const;

private:
  /// The tables of a file. Addresses are addresses in it.
  struct tables {
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

  [[nodiscard]] bool has_tables() const { return tables_ && tables_->module != nullptr; }
  [[nodiscard]] std::vector<source_place> find(std::uint64_t address);
  /// Effects: fills `place.path`; `place.file` loses its directories.
  void find_source(source_place& place, const debug_unit& unit);
  /// Returns: what of the debug information cannot be read, and why; empty: all can, but perhaps files of functions.
  [[nodiscard]] std::string unread_part() const;

  std::string path_;
  std::string name_;  // without directories
  bool is_other_build_ = false;
  std::optional<tables> tables_;
  std::unordered_map<std::uint64_t, std::vector<source_place>> known_;  // by return address
  std::map<std::string, bool> sources_;  // whether they are there, of this build; by path
};

std::vector<source_place> named_file::find(std::uint64_t address) {
  source_place place;
  place.module = name_;
  place.function = name_.empty() ? fmt::format("{:#x}", address) : fmt::format("{}+{:#x}", name_, address);
  place.address = address + 1;
  if (!has_tables()) return {place};
  std::tie(place.code_begin, place.code_end) = code_of(tables_->module, address);
  if (const char* const symbol = tables_->symbols.at(address)) {
    place.whole = whole_function_name(symbol);
    place.function = short_function_name(place.whole);
  }
  const debug_unit unit = tables_->units.at(address);
  std::tie(place.file, place.line) = source_of(unit, address);
  std::vector<source_place> all =
      unit.die == nullptr ? std::vector{place} : with_inlined(tables_->units, unit, address, place);
  for (source_place& each : all) find_source(each, unit);
  return all;
}

void named_file::find_source(source_place& place, const debug_unit& unit) {
  if (place.file.empty()) return;
  const fs::path file = fs::path(folder_of(unit)) / place.file;
  const auto [at, is_new] = sources_.try_emplace(file);
  if (is_new) at->second = is_source_of(at->first, path_);
  place.path = &at->first;
  place.has_source = at->second;
  place.file = file.filename().string();
}

std::string named_file::note() const {
  if (is_other_build_) return path_ + " holds another build than the recorded one: its sites are shown as offsets.";
  if (!has_tables()) return {};
  const std::string unread = unread_part();
  if (!unread.empty())
    return fmt::format("{}: lines, names and inlined calls may be missing, since {}.", path_, unread);
  const std::string& missing = tables_->units.missing_file();
  if (missing.empty()) return {};
  const std::string package = path_ + ".dwp";
  return fmt::format("{}: inlined calls are not shown, since their debug information is in {}.", path_,
                     is_in_place(package)   ? package + ", which the libdw of this command does not read"
                     : is_in_place(missing) ? missing + ", which libdw cannot read, or is of another build"
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

std::string source_place::str() const {
  if (line != 0) return fmt::format("{} ({}:{})", function, file, line);
  return is_unnamed(*this) ? function : fmt::format("{} ({})", function, module);
}

std::string source_place::code() const {
  if (!has_source) return "";
  std::ifstream from(*path);
  std::string text;
  for (int i = 0; i < line; ++i)
    if (!std::getline(from, text)) return "";
  std::ranges::replace_if(text, [](char c) { return c == '\t' || c == '\r'; }, ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  return shorten(text.substr(std::min(text.find_first_not_of(' '), text.size())), most_code);
}

bool is_allocator_place(const source_place& place) {
  static constexpr std::array<std::string_view, 24> functions = {
      "malloc",         "calloc",     "realloc",         "reallocarray",      "aligned_alloc",  "memalign",
      "posix_memalign", "valloc",     "pvalloc",         "operator new",      "operator new[]", "free",
      "cfree",          "free_sized", "operator delete", "operator delete[]", "__libc_malloc",  "__libc_calloc",
      "__libc_realloc", "strdup",     "__strdup",        "strndup",           "__strndup",      "vasprintf"};
  const bool is_own = place.module.starts_with("libashlar") && place.module.ends_with(".so");
  return is_own || std::ranges::find(functions, place.function) != functions.end();
}

bool is_library_place(const source_place& place) {
  const std::string& f = place.function;
  if (f.starts_with("std::") || f.starts_with("__gnu_cxx::")) return true;
  if (place.module.starts_with("libstdc++.") || place.module.starts_with("libc++.")) return true;
  return is_allocator_place(place);
}

bool is_c_library_place(const source_place& place) {
  static constexpr std::array<std::string_view, 6> modules = {"libc.so",  "libc-",       "libm.so",
                                                              "ld-linux", "libpthread.", "ld-musl"};
  return std::ranges::any_of(modules, [&](std::string_view m) { return place.module.starts_with(m); });
}

bool is_unnamed(const source_place& place) {
  return place.whole.empty() && place.function.starts_with(place.module + "+0x");
}

std::string unnamed_note(const std::set<std::string>& modules) {
  std::string files;
  for (const std::string& module : modules)
    if (module.find(" (another build)") == module.npos) files += (files.empty() ? "" : ", ") + module;
  if (files.empty()) return "";
  return files + ": no symbols, so functions are offsets of their calls. Debug information has the names: a package "
                 "NAME-dbgsym, or debuginfod (libdebuginfod1, and its server in DEBUGINFOD_URLS).";
}

symboliser::symboliser() = default;
symboliser::~symboliser() = default;

const std::vector<source_place>& symboliser::places(const std::string& path, const std::string& build_id,
                                                    std::uint64_t return_address) {
  std::unique_ptr<named_file>& file = files_[{path, build_id}];
  if (file == nullptr) file = std::make_unique<named_file>(path, build_id);
  return file->places(return_address);
}

const std::vector<source_place>& symboliser::places(std::uint64_t frame,
                                                    std::span<const trace::mapped_module> modules) {
  const std::vector<source_place>*& known = by_frame_[frame];
  if (known == nullptr) {
    const trace::mapped_module* const in = trace::find_module(modules, frame);
    known = in == nullptr ? &places("", "", frame) : &places(in->path, in->build_id, frame - in->bias);
  }
  return *known;
}

std::vector<const source_place*> symboliser::calls(std::span<const std::uint64_t> frames,
                                                   std::span<const trace::mapped_module> modules) {
  std::vector<const source_place*> all;
  for (const std::uint64_t frame : frames)
    for (const source_place& place : places(frame, modules)) all.push_back(&place);
  return all;
}

void symboliser::look_up(const trace::stack_table& stacks, std::span<const trace::mapped_module> modules) {
  for (std::uint32_t id = 1; id <= stacks.size(); ++id) static_cast<void>(calls(stacks[id], modules));
}

std::vector<std::string> symboliser::notes() const {
  std::vector<std::string> all;
  for (const auto& [key, file] : files_)
    if (std::string note = file->note(); !note.empty()) all.push_back(std::move(note));
  return all;
}

}  // namespace ashlar::cli
