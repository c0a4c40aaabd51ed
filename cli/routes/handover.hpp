// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan for the library that routes: lines of text in a variable of the environment.
#pragma once

#include <string>

#include "cli/routes/plan.hpp"

namespace ashlar::cli {

inline constexpr const char* route_variable = "ASHLAR_ROUTE";

/// Returns: the value of the variable; malloc/route/text.hpp describes it. `reports`: the library prints what it has
/// routed as the program ends. Throws: `std::runtime_error` for a plan with sites in more than 256 modules, for one
/// with more than 127 KiB of sites, which is what the environment takes, for a frame whose offset is not in the code of
/// its module, and for a chain whose frames no fixed offsets lead through, with the site and the frame.
[[nodiscard]] std::string handover_text(const route_plan& plan, bool reports);

}  // namespace ashlar::cli
