// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Judges sites together.
#include "cli/advise/common_remedy.hpp"

#include <algorithm>
#include <cstdint>

namespace ashlar::cli {

namespace {

/// Returns: the features of a pool for all.
site_features in_one_pool(const site_list& sites, const advised_site& largest) {
  site_features all = *largest.features;
  for (const advised_site* s : sites) {
    if (s == &largest) continue;
    all.sizes.merge(s->features->sizes);
    all.alignment = std::max(all.alignment, s->features->alignment);
    all.births.add(s->features->births);
    all.freed_by_others += s->features->freed_by_others;
  }
  return all;
}

}  // namespace

bool arena_serves_all(const site_list& sites, const advice_limits& limits) {
  std::uint64_t bytes = 0, peak_bytes = 0, batches = ~std::uint64_t{0};
  for (const advised_site* s : sites) {
    const site_features& f = *s->features;
    if (s->owner != sites.front()->owner || s->owner_share < limits["owner.share"] || f.freed_by_others != 0)
      return false;
    bytes += f.allocated.bytes;
    peak_bytes += f.peak_bytes;
    batches = std::min(batches, f.batches.epochs);
  }
  return arena_held_by_live(bytes, batches, peak_bytes) <= limits["batch_in_function.held"];
}

common_remedy remedy_for_all(const site_list& sites, const program_features& program, const advice_limits& limits) {
  const auto arena = std::ranges::find_if(sites, [](auto* s) { return s->rule->proposes == remedy::arena; });
  if (arena != sites.end() && arena_serves_all(sites, limits)) return {(*arena)->rule, (*arena)->evidence, {}};
  const advised_site& largest =
      **std::ranges::max_element(sites, {}, [](const advised_site* s) { return s->features->peak_objects; });
  const site_features all = in_one_pool(sites, largest);
  const site_facts facts{all, program, limits, largest.request, largest.owner, largest.owner_share, {}};
  const advice_rule& pool = rule_named("few_sizes");
  if (!pool.fires(facts)) return {&rule_named("none"), "neither one arena nor one pool serves all", {}};
  return {&pool, pool.evidence(facts), {all.pool().cell_bytes, all.has_several_threads()}};
}

void take_remedy(advised_site& s, const common_remedy& found, const std::string& why, const advice_limits& limits) {
  s.rule = found.rule;
  s.estimate = touched_ns(*s.features, *found.rule, limits);
  s.evidence = found.evidence + "; " + why;
  if (found.pool.cell_bytes != 0) s.pool = found.pool;
}

}  // namespace ashlar::cli
