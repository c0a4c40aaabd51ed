// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The planner: solves a problem and returns a layout.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/layout.hpp>
#include <ashlar/base/problem.hpp>
#include <ashlar/detail/planner/greedy.hpp>
#include <ashlar/detail/planner/instance.hpp>
#include <ashlar/detail/planner/make_instance.hpp>
#include <ashlar/detail/planner/pools.hpp>
#include <ashlar/detail/planner/search_limits.hpp>
#include <ashlar/detail/planner/space_planner.hpp>

namespace ashlar::ASHLAR_ABI {
namespace detail::planner {

using plan::effort;
using plan::layout;
using plan::options;
using plan::proof;
using plan::status;

[[nodiscard]] inline bool acceptable(const problem& p, const options& wanted) {
  const std::uint64_t base = wanted.base_alignment;
  if (base == 0 || (base & (base - 1)) != 0) return false;
  if (base - 1 > max_total_bytes / (2 * (p.buffers.size() + 1))) return false;
  const auto off_base = [&](const pin& q) { return q.offset % base != 0; };
  return !check(p) && std::none_of(p.pins.begin(), p.pins.end(), off_base);
}

[[nodiscard]] inline budget budget_of(const options& wanted) {
  constexpr std::uint64_t balanced = 20'000;
  std::uint64_t nodes = wanted.nodes;
  if (nodes == 0) nodes = wanted.effort == effort::exact ? std::numeric_limits<std::uint64_t>::max() : balanced;
  auto until = budget::clock::time_point::max();
  if (wanted.time.count() > 0) {
    if (wanted.nodes == 0) nodes = std::numeric_limits<std::uint64_t>::max();
    until = budget::clock::now() + std::chrono::duration_cast<budget::clock::duration>(wanted.time);
  }
  return budget(nodes, until, wanted.stop);
}

/// One call of `solve`.
class solver {
public:
  solver(const problem& p, const options& wanted) : problem_(p), wanted_(wanted), effort_(budget_of(wanted)) {}

  [[nodiscard]] layout run() {
    if (!acceptable(problem_, wanted_)) {
      result_.status = status::rejected;
      return std::move(result_);
    }
    instance_ = make_instance(problem_, wanted_.base_alignment);
    offsets_.assign(instance_.items.size(), 0);
    if (problem_.pools.empty()) plan_one_space();
    else plan_pools();
    finish();
    return std::move(result_);
  }

private:
  void plan_one_space() {
    const space_result r = space_planner(instance_, wanted_, effort_, result_.stats).run(offsets_);
    placed_ = r.placed;
    result_.status = r.status;
    result_.proof = r.proof;
    result_.lower_bound = r.bound;
    const part whole = whole_of(instance_);
    witness(whole);
    if (wanted_.previous != nullptr && r.placed) keep_close(whole, r.height);
  }

  void plan_pools() {
    const part whole = whole_of(instance_);
    assignment found = assign_pools(whole, problem_.pools);
    offsets_ = std::move(found.offsets);
    pool_of_ = std::move(found.pools);
    result_.status = found.fits ? status::feasible : status::unknown;
    result_.stats.sections = instance_.sections;
    witness(whole);
    if (found.fits) return;
    if (pools_overloaded(whole, problem_.pools)) {
      result_.status = status::infeasible;
      result_.proof = proof::load;
      return;
    }
    if (wanted_.effort == effort::fast) return;
    tighten_pools();
    if (result_.status == status::unknown && instance_.items.size() <= most_items_to_assign) search_pools();
  }

  /// Plans the chosen items into one pool.
  [[nodiscard]] status plan_pool(std::size_t p, const std::vector<std::uint32_t>& chosen, const options& as_wanted) {
    options wanted = as_wanted;
    wanted.capacity = problem_.pools[p].capacity;
    const instance pooled = select(instance_, chosen);
    std::vector<std::uint64_t> offsets(chosen.size());
    for (std::size_t k = 0; k < chosen.size(); ++k) offsets[k] = offsets_[chosen[k]];
    const space_result r = space_planner(pooled, wanted, effort_, result_.stats).run(offsets);
    for (std::size_t k = 0; k < chosen.size(); ++k) offsets_[chosen[k]] = offsets[k];
    if (r.placed && r.height <= *wanted.capacity) return status::feasible;
    return r.status == status::infeasible ? status::infeasible : status::unknown;
  }

  /// Keeps the assignment and searches each overfull pool exactly.
  void tighten_pools() {
    bool all = true;
    for (std::uint32_t p = 0; p < problem_.pools.size(); ++p) {
      std::vector<std::uint32_t> chosen;
      for (std::uint32_t i = 0; i < instance_.items.size(); ++i)
        if (pool_of_[i] == p) chosen.push_back(i);
      const bool fits = plan_pool(p, chosen, wanted_) == status::feasible;
      all = all && fits;
    }
    if (all) result_.status = status::feasible;
  }

  void search_pools() {
    options wanted = wanted_;
    wanted.on_progress = nullptr;
    const auto plan = [&](std::size_t p, const std::vector<std::uint32_t>& chosen) {
      return plan_pool(p, chosen, wanted);
    };
    pool_search search(instance_, problem_.pools, effort_, result_.stats, plan);
    result_.status = search.run(pool_of_);
    if (result_.status == status::infeasible) result_.proof = proof::exhaustion;
  }

  /// Writes the moment of the greatest load, and the buffers live at it.
  void witness(const part& whole) {
    if (instance_.sections == 0) return;
    const load_bound worst = load_bound_of(whole);
    if (problem_.pools.empty()) result_.lower_bound = std::max(result_.lower_bound, worst.height);
    const std::uint64_t peak = result_.peak_moment = instance_.moments[worst.section];
    const auto live = [&](const interval& x) { return x.begin <= peak && peak < x.end; };
    for (position i = 0; i < problem_.buffers.size(); ++i) {
      const std::uint32_t k = instance_.of_buffer[i];
      if (std::any_of(instance_.begin(k), instance_.end(k), live) && problem_.buffers[i].birth <= peak &&
          peak < problem_.buffers[i].death)
        result_.peak_live.push_back(i);
    }
  }

  void keep_close(const part& whole, std::uint64_t height) {
    if (wanted_.previous->offsets.size() != problem_.buffers.size()) return;
    std::vector<std::uint64_t> wished(whole.size());
    for (position i = 0; i < problem_.buffers.size(); ++i)
      wished[instance_.of_buffer[i]] = wanted_.previous->offsets[i];
    placement kept = stay_close(whole, wished, height);
    if (kept.height <= height && !kept.offsets.empty()) offsets_ = std::move(kept.offsets);
  }

  void finish() {
    // Colliding pins, or no fit into the pools: there is no valid layout to return.
    if (!placed_) return;
    if (!problem_.pools.empty() && result_.status != status::feasible) return;
    result_.offsets.resize(problem_.buffers.size());
    if (!problem_.pools.empty()) result_.pools.resize(problem_.buffers.size());
    for (position i = 0; i < problem_.buffers.size(); ++i) {
      const std::uint32_t k = instance_.of_buffer[i];
      result_.offsets[i] = offsets_[k];
      if (!problem_.pools.empty()) result_.pools[i] = pool_of_[k];
      result_.height = std::max(result_.height, offsets_[k] + problem_.buffers[i].size);
    }
  }

  const problem& problem_;
  const options& wanted_;
  budget effort_;
  instance instance_;
  std::vector<std::uint64_t> offsets_;  // by item
  std::vector<std::uint32_t> pool_of_;  // by item
  layout result_;
  bool placed_ = true;
};

}  // namespace detail::planner

namespace plan {

/// Effects: plans `p`. A valid layout exists after the first greedy order; from then on budgets, the clock and the stop
/// flag may end the work.
/// Returns: the best layout found and its proof. `rejected` if `check(p)` finds a defect, if the base alignment is no
/// power of two, or if a pin does not have it.
/// Complexity: greedy placement by first fit, O(n log^2 n) if taken bytes coalesce; the exact search is limited by its
/// budget. Memory is proportional to the problem and, for parts that are searched exactly, to the sections of their
/// items.
[[nodiscard]] inline layout solve(const problem& p, const options& wanted = {}) {
  return detail::planner::solver(p, wanted).run();
}

}  // namespace plan
}  // namespace ashlar::ASHLAR_ABI
