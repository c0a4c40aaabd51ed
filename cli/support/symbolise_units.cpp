// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collects the address ranges of the units of a file, and of the functions of a unit.
#include "cli/support/symbolise_units.hpp"

#include <filesystem>

#include <dwarf.h>

#include "cli/support/symbolise_ranges.hpp"

namespace ashlar::cli {

namespace {

enum class walk { shallow, deep };

/// Effects: calls `f(begin, end)` for each range of addresses of `die`.
template <class F>
void for_each_range(Dwarf_Die* die, F&& f) {
  Dwarf_Addr base = 0, begin = 0, end = 0;
  for (std::ptrdiff_t at = 0; (at = ::dwarf_ranges(die, at, &base, &begin, &end)) > 0;) f(begin, end);
}

/// Functions stand in the unit itself or, as clang writes those without a declaration, in their namespace; those of
/// local classes and lambdas in the function around them.
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

std::string file_of_functions(Dwarf_Die* unit) {
  const char* const folder = text_of(unit, DW_AT_comp_dir);
  for (const unsigned name : {DW_AT_dwo_name, DW_AT_GNU_dwo_name})
    if (const char* const file = text_of(unit, name))
      return std::filesystem::path(folder == nullptr ? "" : folder) / file;
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

}  // namespace ashlar::cli
