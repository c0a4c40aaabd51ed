// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One remedy for sites that cannot be changed one by one: sites of one container, or of one call of free.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/advise/sites.hpp"

namespace ashlar::cli {

/// Returns: whether the function is on the stack with most objects of the site.
using stack_test = std::function<bool(const advised_site& site, const std::string& function)>;

/// Effects: sites that may allocate for one container, and whose remedies differ, get one remedy: the arena of one of
/// them where it serves all, else a pool, else nothing.
void join_containers(std::vector<advised_site>& sites, const program_features& program, const advice_limits& limits,
                     const stack_test& is_on_stack);

/// Returns: the function that holds most objects of a node from birth to death, and its share of the deaths.
using owner_finder = std::function<std::pair<std::string, double>(std::uint32_t node)>;

/// Effects: a site whose remedy changes how its blocks are freed keeps it if no other site's blocks are freed by the
/// same call, or if these have the same remedy; else all of them, also those without one alone, get one that serves
/// all, or none. Its evidence names them. Two calls are the same if they stand in one line, and so do the calls of
/// their functions. Complexity: O(pairs of stacks of birth and death), and the names of stacks of death.
void join_shared_frees(std::vector<advised_site>& sites, const call_tree& tree, const site_observer& seen,
                       site_names& names, const owner_finder& owner_of, const advice_limits& limits);

}  // namespace ashlar::cli
