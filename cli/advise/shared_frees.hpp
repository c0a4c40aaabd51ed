// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The other end of a block: a remedy in the program's code changes a call of free, and with it all blocks that it
// frees.
//
//     ~value: free(text)     frees the blocks of both sites, under one caller: they have one remedy, or none
//     xfree(p) <- close      frees blocks of one site
//              <- reset      frees blocks of the other: each has a remedy of its own, told in the callers of xfree
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/advise/sites.hpp"

namespace ashlar::cli {

/// Returns: the function that holds most objects of a node from birth to death, and its share of the deaths.
using owner_finder = std::function<std::pair<std::string, double>(std::uint32_t node)>;

/// Effects: a site whose remedy changes how its blocks are freed keeps it if no other site's blocks are freed by the
/// same call, or if these have the same remedy; else all of them, also those without one alone, get one that serves
/// all, or none. Its evidence names them. Two calls are the same if they stand in one line, and so do the calls of
/// their functions. Complexity: O(pairs of stacks of birth and death), and the names of stacks of death.
void join_shared_frees(std::vector<advised_site>& sites, const call_tree& tree, const site_observer& seen,
                       site_names& names, const owner_finder& owner_of, const advice_limits& limits);

}  // namespace ashlar::cli
