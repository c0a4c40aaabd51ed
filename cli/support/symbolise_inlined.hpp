// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions that a compiler has inlined at an address, by the debug information.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/support/symbolise_place.hpp"
#include "cli/support/symbolise_units.hpp"

namespace ashlar::cli {

/// Returns: the inlined functions at `address` in its unit, innermost first, then `outermost`, each with the line of
/// its call. `outermost` has the function of the symbol table and the line of the innermost one.
[[nodiscard]] std::vector<source_place> with_inlined(debug_units& units, const debug_unit& unit, std::uint64_t address,
                                                     const source_place& outermost);

}  // namespace ashlar::cli
