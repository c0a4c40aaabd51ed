// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compilation unit of an address, also in files without a table of them, as clang writes them, and with functions
// in a file of their own (-gsplit-dwarf); and the functions that a compiler has inlined there.
#pragma once

#include <optional>

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "cli/support/symbolise.hpp"

namespace ashlar::cli {

/// A unit, and the bias of its addresses.
struct debug_unit {
  Dwarf_Die* die = nullptr;  ///< Null: the file has no debug information for the address.
  Dwarf_Addr bias = 0;
};

/// The units of a file. Thread safety: one thread at a time.
class debug_units {
public:
  /// `module` outlives this.
  explicit debug_units(Dwfl_Module* module) : module_(module) {}

  /// Complexity: O(log units); O(units) for the first address of a file without a table of addresses.
  [[nodiscard]] debug_unit at(std::uint64_t address);

  /// Returns: the function of the unit with machine code at `address`; null if there is none. Complexity: as `at`.
  [[nodiscard]] Dwarf_Die* function_at(const debug_unit& unit, std::uint64_t address);

  /// Returns: the unit with the functions and the names of files; another than `unit` if they have a file of their own.
  [[nodiscard]] Dwarf_Die* functions_of(const debug_unit& unit) { return &contents_of(unit).root; }

  /// Returns: the symbol of an inlined function, or its name in its namespaces. Complexity: O(1); O(entries of the
  /// unit) for the first call of a function without a symbol.
  [[nodiscard]] const std::string& inlined_name(Dwarf_Die* inlined);

  /// Returns: what of the units cannot be read, as the end of a sentence; empty if all can be.
  /// Complexity: O(units); of those with a function that was looked up, or of the first one, all lines.
  [[nodiscard]] std::string fault() const;

  /// Returns: the first file of functions that is missing or not readable; empty if none is.
  [[nodiscard]] const std::string& missing_file() const noexcept { return missing_; }

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
  struct unit_contents {
    Dwarf_Die root = {};
    std::vector<function_range> functions;  // by begin
    std::vector<function_range> nested;     // in other functions and in classes, by begin; read on demand
    bool has_nested = false;
  };

  [[nodiscard]] std::vector<unit_range> read_ranges() const;
  [[nodiscard]] unit_contents& contents_of(const debug_unit& unit);

  Dwfl_Module* module_;
  std::optional<std::vector<unit_range>> ranges_;  // by begin
  std::map<const void*, unit_contents> contents_;
  std::unordered_map<const void*, std::string> inlined_names_;  // by declaration
  std::string missing_;
  bool is_whole_ = true;  // no functions were left out
};

/// Returns: the folder of its compilation; empty if it is unknown.
[[nodiscard]] std::string folder_of(const debug_unit& unit);

/// Returns: the inlined functions at `address` in its unit, innermost first, then `outermost`, each with the line of
/// its call. `outermost` has the function of the symbol table and the line of the innermost one. Files have their
/// paths.
[[nodiscard]] std::vector<source_place> with_inlined(debug_units& units, const debug_unit& unit, std::uint64_t address,
                                                     const source_place& outermost);

}  // namespace ashlar::cli
