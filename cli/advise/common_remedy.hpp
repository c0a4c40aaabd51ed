// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One remedy for sites that cannot be changed one by one: sites of one container, or of one call of free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cli/advise/sites.hpp"

namespace ashlar::cli {

using site_list = std::vector<advised_site*>;

/// Sites that are joined step by step.
class joined_sites {
public:
  explicit joined_sites(std::size_t sites) : parents_(sites) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }
  /// Returns: one of the sites that this one is joined with, the same for all.
  [[nodiscard]] std::size_t root(std::size_t site) {
    for (; parents_[site] != site; site = parents_[site]) parents_[site] = parents_[parents_[site]];
    return site;
  }
  void join(std::size_t a, std::size_t b) { parents_[root(a)] = root(b); }

private:
  std::vector<std::size_t> parents_;
};

struct common_remedy {
  const advice_rule* rule = nullptr;
  std::string evidence;
  shared_pool pool;
};

/// Returns: whether an arena in their owner, emptied as often as the rarest of them, holds little more than the live
/// objects and a chunk. Expects: there are sites.
[[nodiscard]] bool arena_serves_all(const site_list& sites, const advice_limits& limits);

/// Returns: the arena of one of them where it serves all, else a pool, else nothing. Expects: there are sites.
[[nodiscard]] common_remedy remedy_for_all(const site_list& sites, const program_features& program,
                                           const advice_limits& limits);

/// Effects: `s` gets the remedy. `why` ends its evidence.
void take_remedy(advised_site& s, const common_remedy& found, const std::string& why, const advice_limits& limits);

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
