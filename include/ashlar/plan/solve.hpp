// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The planner: a problem in, a layout out.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/budget.hpp>
#include <ashlar/plan/check.hpp>
#include <ashlar/plan/keep.hpp>
#include <ashlar/plan/layout.hpp>
#include <ashlar/plan/load.hpp>
#include <ashlar/plan/model.hpp>
#include <ashlar/plan/options.hpp>
#include <ashlar/plan/pool_search.hpp>
#include <ashlar/plan/pools.hpp>
#include <ashlar/plan/problem.hpp>
#include <ashlar/plan/shape.hpp>
#include <ashlar/plan/space_planner.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

namespace detail {

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
  solver(const problem& p, const options& wanted) : problem_(p), wanted_(wanted), allowance_(budget_of(wanted)) {}

  [[nodiscard]] layout run() {
    if (!acceptable(problem_, wanted_)) {
      result_.status = status::rejected;
      return std::move(result_);
    }
    shapes_ = make_shapes(problem_);
    for (shape& s : shapes_.list) s.alignment = std::max(s.alignment, wanted_.base_alignment);
    offsets_.assign(shapes_.list.size(), 0);
    if (problem_.pools.empty()) plan_one_space();
    else plan_pools();
    finish();
    return std::move(result_);
  }

private:
  [[nodiscard]] std::vector<std::uint32_t> everything() const {
    std::vector<std::uint32_t> chosen(shapes_.list.size());
    std::iota(chosen.begin(), chosen.end(), std::uint32_t{0});
    return chosen;
  }

  void plan_one_space() {
    space_planner space(shapes_, everything(), wanted_, allowance_, result_.stats);
    const space_result r = space.run(offsets_);
    placed_ = r.placed;
    result_.status = r.status;
    result_.proof = r.proof;
    result_.lower_bound = r.bound;
    witness(space.whole());
    if (wanted_.previous != nullptr && r.placed) stay_close(space.whole(), r.height);
  }

  void plan_pools() {
    const model whole = make_model(shapes_);
    assignment found = assign_pools(whole, shapes_, problem_.pools);
    for (std::size_t i = 0; i < whole.items.size(); ++i) offsets_[whole.items[i].origin] = found.offsets[i];
    pool_of_ = found.pools;
    result_.status = found.fits ? status::feasible : status::unknown;
    result_.stats.sections = whole.sections;
    witness(whole);
    if (found.fits) return;
    if (pools_overloaded(whole, shapes_, problem_.pools)) {
      result_.status = status::infeasible;
      result_.proof = proof::load;
      return;
    }
    if (wanted_.effort == effort::fast) return;
    tighten_pools();
    if (result_.status == status::unknown && pool_search::accepts(whole)) search_pools(whole);
  }

  /// The assignment is kept; each pool that is overfull is searched exactly.
  void tighten_pools() {
    bool all = true;
    for (std::uint32_t p = 0; p < problem_.pools.size(); ++p) {
      std::vector<std::uint32_t> chosen;
      for (std::uint32_t s = 0; s < shapes_.list.size(); ++s)
        if (pool_of_[s] == p) chosen.push_back(s);
      options wanted = wanted_;
      wanted.capacity = problem_.pools[p].capacity;
      const space_result r = space_planner(shapes_, chosen, wanted, allowance_, result_.stats).run(offsets_);
      all = all && r.placed && r.height <= *wanted.capacity;
    }
    if (all) result_.status = status::feasible;
  }

  void search_pools(const model& whole) {
    pool_search search(whole, shapes_, problem_.pools, wanted_, allowance_, result_.stats);
    result_.status = search.run(offsets_, pool_of_);
    if (result_.status == status::infeasible) result_.proof = proof::exhaustion;
  }

  void witness(const model& m) {
    if (m.sections == 0) return;
    const load_bound worst = load_bound_of(m);
    if (problem_.pools.empty()) result_.lower_bound = std::max(result_.lower_bound, worst.height);
    result_.peak_moment = m.moments[worst.section];
    for (position i = 0; i < problem_.buffers.size(); ++i) {
      const shape& s = shapes_.list[shapes_.of_buffer[i]];
      const auto live = [&](const stretch& x) { return x.begin <= result_.peak_moment && result_.peak_moment < x.end; };
      if (std::any_of(shapes_.stretches.data() + s.first, shapes_.stretches.data() + s.last, live) &&
          problem_.buffers[i].birth <= result_.peak_moment && result_.peak_moment < problem_.buffers[i].death)
        result_.peak_live.push_back(i);
    }
  }

  void stay_close(const model& m, std::uint64_t height) {
    if (wanted_.previous->offsets.size() != problem_.buffers.size()) return;
    std::vector<std::uint64_t> wished(m.items.size());
    for (position i = 0; i < problem_.buffers.size(); ++i) wished[shapes_.of_buffer[i]] = wanted_.previous->offsets[i];
    const placement kept = keep_offsets(m, wished, height);
    if (kept.height <= height && !kept.offsets.empty())
      for (std::size_t i = 0; i < m.items.size(); ++i) offsets_[m.items[i].origin] = kept.offsets[i];
  }

  void finish() {
    // Colliding pins, or pools that nothing was found to fit: there is nothing valid to show.
    if (!placed_) return;
    if (!problem_.pools.empty() && result_.status != status::feasible) return;
    result_.offsets.resize(problem_.buffers.size());
    if (!problem_.pools.empty()) result_.pools.resize(problem_.buffers.size());
    for (position i = 0; i < problem_.buffers.size(); ++i) {
      const std::uint32_t s = shapes_.of_buffer[i];
      result_.offsets[i] = offsets_[s];
      if (!problem_.pools.empty()) result_.pools[i] = pool_of_[s];
      result_.height = std::max(result_.height, offsets_[s] + problem_.buffers[i].size);
    }
  }

  const problem& problem_;
  const options& wanted_;
  budget allowance_;
  shapes shapes_;
  std::vector<std::uint64_t> offsets_;  // by shape
  std::vector<std::uint32_t> pool_of_;  // by shape
  layout result_;
  bool placed_ = true;
};

}  // namespace detail

/// Effects: plans `p`. A valid layout exists once the first greedy order is done; from then on budgets, the clock and
/// the stop flag may end the work.
/// Returns: the best layout found and what is known about it. `rejected` if `check(p)` finds a defect, if the base
/// alignment is no power of two, or if a pin does not have it.
/// Complexity: greedy placement as `place_in_order`; the exact search as far as its budget goes. Memory is
/// proportional to the problem, and to the sections its items live in where parts are searched exactly.
[[nodiscard]] inline layout solve(const problem& p, const options& wanted = {}) {
  return detail::solver(p, wanted).run();
}

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
