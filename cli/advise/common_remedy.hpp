// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One remedy for sites that cannot be changed one by one: sites of one container, or of one call of free.
#pragma once

#include <cstddef>
#include <numeric>
#include <string>
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

}  // namespace ashlar::cli
