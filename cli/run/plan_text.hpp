// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan of routes for people: which call sites share which resource.
#pragma once

#include <string>

#include "cli/routes/plan.hpp"

namespace ashlar::cli {

/// Returns: a line for each group, and under it one for each of its first sites: a page at most. Sites of one name have
/// their return addresses too. `name`: the file of the plan.
[[nodiscard]] std::string plan_text(const route_plan& plan, const std::string& name);

}  // namespace ashlar::cli
