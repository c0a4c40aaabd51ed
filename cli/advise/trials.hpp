// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a measurement of the program tells about each call site: an effect, or why there is none.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/advise/advice.hpp"

namespace ashlar::cli {

/// Effects: a site that a plan could have tells in its evidence its group, or why it has none.
void tell_routes(advice& a, const call_tree& tree);

/// Effects: each group of `a.plan` gets its effect, or the effect of the whole plan if no group was measured for
/// itself; each site gets the effect of its group, or the reason why nothing was tried for it. Sites with a remedy are
/// sorted by it, and `a.order` describes the order. `data`: of `remedy_json`. `plan_failure`: why no group is left of a
/// plan; empty: it does not fail.
void add_trials(advice& a, const call_tree& tree, const nlohmann::json& data, const std::string& plan_failure);

}  // namespace ashlar::cli
