// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collects the address ranges of all units of a module.
#include "cli/support/symbolise_units.hpp"

#include <algorithm>

#include <dwarf.h>

namespace ashlar::cli {

namespace {

/// Effects: calls `f(begin, end)` for each range of addresses of `die`.
template <class F>
void for_each_range(Dwarf_Die* die, F&& f) {
  Dwarf_Addr base = 0, begin = 0, end = 0;
  for (std::ptrdiff_t at = 0; (at = ::dwarf_ranges(die, at, &base, &begin, &end)) > 0;) f(begin, end);
}

template <class Range>
void sort_by_begin(std::vector<Range>& all) {
  std::sort(all.begin(), all.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

/// Returns: the range with `address`, or null. Expects: they are sorted and do not overlap.
template <class Range>
Range* range_with(std::vector<Range>& all, std::uint64_t address) {
  const auto above =
      std::upper_bound(all.begin(), all.end(), address, [](std::uint64_t a, const Range& r) { return a < r.begin; });
  return above == all.begin() || address >= (above - 1)->end ? nullptr : &*(above - 1);
}

}  // namespace

debug_unit debug_units::at(Dwfl_Module* module, std::uint64_t address) {
  debug_unit unit;
  unit.die = ::dwfl_module_addrdie(module, address, &unit.bias);
  if (unit.die != nullptr) return unit;
  const auto [place, is_new] = units_.try_emplace(module);
  if (is_new) place->second = ranges_of(module);
  if (place->second.empty()) return {};
  const unit_range* const found = range_with(place->second, address - place->second.front().unit.bias);
  return found == nullptr ? debug_unit{} : found->unit;
}

Dwarf_Die* debug_units::function_at(const debug_unit& unit, std::uint64_t address) {
  const auto [place, is_new] = functions_.try_emplace(unit.die->addr);
  if (is_new) {
    add_functions(unit.die, place->second);
    sort_by_begin(place->second);
  }
  function_range* const found = range_with(place->second, address - unit.bias);
  return found == nullptr ? nullptr : &found->die;
}

/// Functions stand in the unit itself or, as clang writes those without a declaration, in their namespace.
void debug_units::add_functions(Dwarf_Die* parent, std::vector<function_range>& all) {
  Dwarf_Die die;
  for (int status = ::dwarf_child(parent, &die); status == 0; status = ::dwarf_siblingof(&die, &die)) {
    const int tag = ::dwarf_tag(&die);
    if (tag == DW_TAG_namespace) add_functions(&die, all);
    if (tag != DW_TAG_subprogram) continue;
    for_each_range(&die, [&](std::uint64_t begin, std::uint64_t end) { all.push_back({begin, end, die}); });
  }
}

std::vector<debug_units::unit_range> debug_units::ranges_of(Dwfl_Module* module) {
  std::vector<unit_range> all;
  debug_unit unit;
  while ((unit.die = ::dwfl_module_nextcu(module, unit.die, &unit.bias)) != nullptr) {
    for_each_range(unit.die, [&](std::uint64_t begin, std::uint64_t end) { all.push_back({begin, end, unit}); });
  }
  sort_by_begin(all);
  return all;
}

}  // namespace ashlar::cli
