// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One remedy for all calls that allocate for one container: it has one allocator.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "cli/advise/sites.hpp"

namespace ashlar::cli {

/// Returns: whether the function is on the stack with most objects of the site.
using stack_test = std::function<bool(const advised_site& site, const std::string& function)>;

/// Effects: sites that may allocate for one container, and whose remedies differ, get one remedy: the arena of one of
/// them where it serves all, else a pool, else nothing.
void join_containers(std::vector<advised_site>& sites, const program_features& program, const advice_limits& limits,
                     const stack_test& is_on_stack);

}  // namespace ashlar::cli
