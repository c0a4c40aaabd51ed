// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan for the library that routes: bound to the files that stand there now, and as lines of text in a variable of
// the environment.
#pragma once

#include <string>

#include "cli/routes/plan.hpp"

namespace ashlar::cli {

/// Effects: the program's sites are sites of the file `program`, by its absolute path, which may have been moved since
/// the plan was made. Returns: the reason why the plan is not for that program, an ELF file, or not for the libraries
/// that stand in the places of those it was made for; empty if it is for them. A plan without groups is for all
/// programs.
[[nodiscard]] std::string bind_plan(route_plan& plan, const std::string& program);

inline constexpr const char* route_variable = "ASHLAR_ROUTE";

/// Returns: the value of the variable; malloc/route/text.hpp describes it. `reports`: the library prints what it has
/// routed as the program ends. Throws: `std::runtime_error` for a plan with sites in more than 256 modules, for one
/// with more than 127 KiB of sites, which is what the environment takes, for a frame whose offset is not in the code of
/// its module, and for a chain whose frames no fixed offsets lead through, with the site and the frame.
[[nodiscard]] std::string handover_text(const route_plan& plan, bool reports);

}  // namespace ashlar::cli
