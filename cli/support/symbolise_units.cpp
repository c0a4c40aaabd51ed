// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collects the address ranges of the units of a file, and of the functions of a unit.
#include "cli/support/symbolise_units.hpp"

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

template <class Range>
void add_functions(Dwarf_Die* parent, walk how, std::vector<Range>& all) {
  Dwarf_Die die;
  for (int status = ::dwarf_child(parent, &die); status == 0; status = ::dwarf_siblingof(&die, &die)) {
    const int tag = ::dwarf_tag(&die);
    if (may_hold_functions(tag, how)) add_functions(&die, how, all);
    if (tag != DW_TAG_subprogram) continue;
    for_each_range(&die, [&](std::uint64_t begin, std::uint64_t end) { all.push_back({begin, end, die}); });
  }
}

std::string file_of_functions(Dwarf_Die* unit) {
  for (const unsigned name : {DW_AT_dwo_name, DW_AT_GNU_dwo_name}) {
    Dwarf_Attribute attribute;
    if (const char* const file = ::dwarf_formstring(::dwarf_attr(unit, name, &attribute))) return file;
  }
  return {};
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
    add_functions(&contents.root, walk::deep, contents.nested);
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
  add_functions(&contents.root, walk::shallow, contents.functions);
  sort_by_begin(contents.functions);
  return contents;
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
