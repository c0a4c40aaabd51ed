// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The symbols of a file, in order of their addresses: the tables are walked once, however many addresses are looked up.
//
//     outer  [--------------------)            the name of an address is that of the innermost symbol with it
//     inner       [-----)
//     at     outer inner    outer  none
#pragma once

#include <cstdint>
#include <vector>

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
  struct named_range {
    std::uint64_t begin = 0, end = 0;
    const char* name = nullptr;
  };

  std::vector<named_range> ranges_;  // in order, disjoint
};

}  // namespace ashlar::cli
