// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compilation unit of an address, also in files without a table of them, as clang writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

namespace ashlar::cli {

/// A unit, and the bias of its addresses.
struct debug_unit {
  Dwarf_Die* die = nullptr;  ///< Null: the module has no debug information for the address.
  Dwarf_Addr bias = 0;
};

/// Thread safety: one thread at a time.
class debug_units {
public:
  /// Complexity: O(log units); O(units) for the first address of a module without a table of addresses.
  [[nodiscard]] debug_unit at(Dwfl_Module* module, std::uint64_t address);

  /// Returns: the function of the unit with machine code at `address`; null if there is none. Complexity: as `at`, of
  /// the unit's functions.
  [[nodiscard]] Dwarf_Die* function_at(const debug_unit& unit, std::uint64_t address);

private:
  /// Addresses in the file.
  struct unit_range {
    std::uint64_t begin = 0, end = 0;
    debug_unit unit;
  };
  struct function_range {
    std::uint64_t begin = 0, end = 0;
    Dwarf_Die die = {};
  };

  static std::vector<unit_range> ranges_of(Dwfl_Module* module);
  static void add_functions(Dwarf_Die* parent, std::vector<function_range>& all);

  std::map<Dwfl_Module*, std::vector<unit_range>> units_;         // by begin
  std::map<const void*, std::vector<function_range>> functions_;  // of each unit, by begin
};

}  // namespace ashlar::cli
