// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The symbols of a file, in order of their addresses: the tables are walked once, however many addresses are looked up.
//
//     outer  [--------------------)            an address has the name of the innermost symbol with it
//     inner       [-----)
//     at     outer inner    outer  none
#pragma once

#include <cstdint>
#include <map>

#include <elfutils/libdwfl.h>

namespace ashlar::cli {

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
  std::map<std::uint64_t, const char*> names_;  // from an address up to the next one; null: none
};

}  // namespace ashlar::cli
