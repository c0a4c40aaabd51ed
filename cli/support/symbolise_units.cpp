// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collects the address ranges of the units of a file, and of the functions of a unit; walks the scopes around an
// address inwards, from its function.
#include "cli/support/symbolise_units.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>

#include <dwarf.h>

#include "cli/support/function_names.hpp"

namespace ashlar::cli {

namespace {

enum class walk { shallow, deep };

template <class Range>
void sort_by_begin(std::vector<Range>& all) {
  std::sort(all.begin(), all.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

/// Returns: the range with `address`, or null. Expects: they are sorted and do not overlap.
template <class Ranges>
auto* range_with(Ranges& all, std::uint64_t address) {
  const auto above =
      std::upper_bound(all.begin(), all.end(), address, [](std::uint64_t a, const auto& r) { return a < r.begin; });
  return above == all.begin() || address >= (above - 1)->end ? nullptr : &*(above - 1);
}

template <class F>
void for_each_range(Dwarf_Die* die, F&& f) {
  Dwarf_Addr base = 0, begin = 0, end = 0;
  for (std::ptrdiff_t at = 0; (at = ::dwarf_ranges(die, at, &base, &begin, &end)) > 0;) f(begin, end);
}

/// Functions stand in the unit itself or, as clang writes functions without a declaration, in their namespace;
/// functions of local classes and lambdas in the function around them.
bool may_hold_functions(int tag, walk how) {
  if (tag == DW_TAG_namespace) return true;
  return how == walk::deep && (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block || tag == DW_TAG_class_type ||
                               tag == DW_TAG_structure_type || tag == DW_TAG_union_type);
}

/// Returns: whether all entries below `parent` could be read.
template <class Range>
[[nodiscard]] bool add_functions(Dwarf_Die* parent, walk how, std::vector<Range>& all) {
  Dwarf_Die die;
  bool is_whole = true;
  int status = ::dwarf_child(parent, &die);
  for (; status == 0; status = ::dwarf_siblingof(&die, &die)) {
    const int tag = ::dwarf_tag(&die);
    if (may_hold_functions(tag, how)) is_whole = add_functions(&die, how, all) && is_whole;
    if (tag != DW_TAG_subprogram) continue;
    for_each_range(&die, [&](std::uint64_t begin, std::uint64_t end) { all.push_back({begin, end, die}); });
  }
  return is_whole && status >= 0;
}

/// Returns: null for none, and if it cannot be read.
const char* text_of(Dwarf_Die* unit, unsigned name) {
  Dwarf_Attribute attribute;
  return ::dwarf_formstring(::dwarf_attr(unit, name, &attribute));
}

std::string folder_of(Dwarf_Die* unit) {
  const char* const folder = text_of(unit, DW_AT_comp_dir);
  return folder == nullptr ? "" : folder;
}

std::string file_of_functions(Dwarf_Die* unit) {
  for (const unsigned name : {DW_AT_dwo_name, DW_AT_GNU_dwo_name})
    if (const char* const file = text_of(unit, name)) return std::filesystem::path(folder_of(unit)) / file;
  return {};
}

/// Returns: what of a unit cannot be read; null: all can, but perhaps its lines.
const char* fault_of(Dwarf_Die* unit) {
  if (::dwarf_tag(unit) == DW_TAG_invalid) return "abbreviations";
  Dwarf_Addr base = 0, begin = 0, end = 0;
  if (::dwarf_ranges(unit, 0, &base, &begin, &end) < 0 ||
      (::dwarf_hasattr(unit, DW_AT_low_pc) != 0 && ::dwarf_lowpc(unit, &begin) != 0))
    return "addresses";
  for (const unsigned name : {DW_AT_name, DW_AT_producer, DW_AT_comp_dir})
    if (::dwarf_hasattr(unit, name) != 0 && text_of(unit, name) == nullptr) return "names";
  return nullptr;
}

bool lacks_lines(Dwarf_Die* unit) {
  Dwarf_Lines* lines = nullptr;
  std::size_t count = 0;
  return ::dwarf_hasattr(unit, DW_AT_stmt_list) != 0 && ::dwarf_getsrclines(unit, &lines, &count) != 0;
}

std::string attribute_text(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  const char* text = ::dwarf_formstring(::dwarf_attr_integrate(die, name, &attribute));
  return text == nullptr ? "" : text;
}

Dwarf_Die declaration_of(Dwarf_Die die) {
  for (const unsigned name : {DW_AT_abstract_origin, DW_AT_specification}) {
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    if (::dwarf_formref_die(::dwarf_attr(&die, name, &attribute), &next) != nullptr) die = next;
  }
  return die;
}

/// Returns: the name in its namespaces, classes and functions. GCC leaves out the symbol of a function that it only
/// inlines.
std::string qualified_name(Dwarf_Die* inlined) {
  Dwarf_Die declaration = declaration_of(*inlined);
  Dwarf_Die* found = nullptr;
  const int count = ::dwarf_getscopes_die(&declaration, &found);
  const std::unique_ptr<Dwarf_Die, void (*)(void*)> scopes(found, std::free);
  std::string name = attribute_text(inlined, DW_AT_name);
  if (name.empty() || count <= 0) return name;
  for (Dwarf_Die& scope : std::span(scopes.get(), static_cast<std::size_t>(count)).subspan(1)) {
    const int tag = ::dwarf_tag(&scope);
    const bool is_function = tag == DW_TAG_subprogram;  // around a lambda
    if (tag != DW_TAG_namespace && tag != DW_TAG_class_type && tag != DW_TAG_structure_type && !is_function) continue;
    const char* const outer = ::dwarf_diename(&scope);
    name = std::string(outer == nullptr ? "(anonymous namespace)" : outer) + "::" + name;
  }
  return name;
}

void name_inlined(source_place& place, const std::string& symbol) {
  place.whole = whole_function_name(symbol.c_str());
  place.function = short_function_name(place.whole);
  place.code_begin = place.code_end = 0;
}

/// Effects: gives `place` the line at which the function of `die` is inlined.
void place_call(source_place& place, Dwarf_Die* die, Dwarf_Die* unit) {
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0, file = 0;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  place.line = 0;
  if (::dwarf_formudata(::dwarf_attr(die, DW_AT_call_line, &attribute), &line) != 0) return;
  if (::dwarf_formudata(::dwarf_attr(die, DW_AT_call_file, &attribute), &file) != 0) return;
  if (::dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count) return;
  const char* path = ::dwarf_filesrc(files, file, nullptr, nullptr);
  if (path == nullptr) return;
  place.file = path;
  place.line = static_cast<int>(line);
}

/// Returns: the scope directly in `parent` with machine code at `pc`.
std::optional<Dwarf_Die> scope_in(Dwarf_Die* parent, std::uint64_t pc) {
  Dwarf_Die die;
  for (int status = ::dwarf_child(parent, &die); status == 0; status = ::dwarf_siblingof(&die, &die)) {
    const int tag = ::dwarf_tag(&die);
    const bool is_scope = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
                          tag == DW_TAG_catch_block;
    if (is_scope && ::dwarf_haspc(&die, pc) > 0) return die;
  }
  return std::nullopt;
}

}  // namespace

debug_unit debug_units::at(std::uint64_t address) {
  debug_unit unit;
  unit.die = ::dwfl_module_addrdie(module_, address, &unit.bias);
  if (unit.die != nullptr) return unit;
  if (!ranges_) ranges_ = read_ranges();
  if (ranges_->empty()) return {};
  const unit_range* const found = range_with(*ranges_, address - ranges_->front().unit.bias);
  return found == nullptr ? debug_unit{} : found->unit;
}

Dwarf_Die* debug_units::function_at(const debug_unit& unit, std::uint64_t address) {
  unit_contents& contents = contents_of(unit);
  if (function_range* const found = range_with(contents.functions, address - unit.bias)) return &found->die;
  if (!contents.has_nested) {
    is_whole_ = add_functions(&contents.root, walk::deep, contents.nested) && is_whole_;
    sort_by_begin(contents.nested);
    contents.has_nested = true;
  }
  function_range* const found = range_with(contents.nested, address - unit.bias);
  return found == nullptr ? nullptr : &found->die;
}

debug_units::unit_contents& debug_units::contents_of(const debug_unit& unit) {
  const auto [place, is_new] = contents_.try_emplace(unit.die->addr);
  unit_contents& contents = place->second;
  if (!is_new) return contents;
  contents.root = *unit.die;
  Dwarf_Die split = {};
  std::uint8_t type = 0;
  const int status = ::dwarf_cu_info(unit.die->cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr);
  if (status == 0 && type == DW_UT_skeleton) {
    if (split.addr != nullptr) contents.root = split;
    else if (missing_.empty()) missing_ = file_of_functions(unit.die);
  }
  is_whole_ = add_functions(&contents.root, walk::shallow, contents.functions) && is_whole_;
  sort_by_begin(contents.functions);
  return contents;
}

const std::string& debug_units::inlined_name(Dwarf_Die* inlined) {
  const auto [at, is_new] = inlined_names_.try_emplace(declaration_of(*inlined).addr);
  std::string& name = at->second;
  if (is_new) name = attribute_text(inlined, DW_AT_linkage_name);
  if (name.empty()) name = qualified_name(inlined);
  if (name.empty()) name = "(inlined)";
  return name;
}

std::string debug_units::fault() const {
  Dwarf_Addr bias = 0;
  Dwarf* const debug = ::dwfl_module_getdwarf(module_, &bias);
  const char* what = is_whole_ ? nullptr : "functions";
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die = {};
  bool is_first = true;
  for (int status = debug == nullptr ? 1 : 0; what == nullptr && status == 0; is_first = false) {
    status = ::dwarf_get_units(debug, unit, &unit, nullptr, nullptr, &die, nullptr);
    if (status < 0) what = "units";
    if (status != 0) break;
    what = fault_of(&die);
    const bool is_used = is_first || contents_.contains(die.addr);
    if (what == nullptr && is_used && lacks_lines(&die)) what = "lines";
  }
  return what == nullptr ? "" : what;
}

std::vector<debug_units::unit_range> debug_units::read_ranges() const {
  std::vector<unit_range> all;
  debug_unit unit;
  while ((unit.die = ::dwfl_module_nextcu(module_, unit.die, &unit.bias)) != nullptr)
    for_each_range(unit.die, [&](std::uint64_t begin, std::uint64_t end) { all.push_back({begin, end, unit}); });
  sort_by_begin(all);
  return all;
}

std::string folder_of(const debug_unit& unit) { return unit.die == nullptr ? "" : folder_of(unit.die); }

std::vector<source_place> with_inlined(debug_units& units, const debug_unit& unit, std::uint64_t address,
                                       const source_place& outermost) {
  std::vector<Dwarf_Die> inlined;  // outermost first
  Dwarf_Die* const function = units.function_at(unit, address);
  std::optional<Dwarf_Die> scope;
  if (function != nullptr) scope = *function;
  while (scope && (scope = scope_in(&*scope, address - unit.bias)))
    if (::dwarf_tag(&*scope) == DW_TAG_inlined_subroutine) inlined.push_back(*scope);
  std::vector<source_place> all = {outermost};
  for (auto die = inlined.rbegin(); die != inlined.rend(); ++die) {
    name_inlined(all.back(), units.inlined_name(&*die));
    all.push_back(outermost);
    place_call(all.back(), &*die, units.functions_of(unit));
  }
  return all;
}

}  // namespace ashlar::cli
