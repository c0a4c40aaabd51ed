// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles a trace and replays it window by window, as the command does, with threads that end as in the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ashlar/study/lane_team.hpp>
#include <ashlar/study/replay.hpp>
#include <ashlar/study/window_compiler.hpp>

namespace ashlar_test {

namespace detail = ashlar::detail;

/// Each lane's allocator is a copy of `prototype`.
template <class Allocator>
class replay_team {
public:
  explicit replay_team(const Allocator& prototype, std::uint32_t lanes, std::size_t slots = 4096)
      : slots_(slots), allocators_(lanes, prototype), lanes_(lanes), done_(lanes), team_(lanes) {
    for (Allocator& each : allocators_) runs_.emplace_back(each, slots_, timer_);
  }

  template <class Source>
  detail::replay_counts run(Source source, std::size_t window = 512) {
    detail::window_compiler compiler([this](const detail::replay_window& w) { run(w); }, window);
    while (const auto e = source.next()) compiler.add(*e);
    return compiler.finish();
  }

  [[nodiscard]] detail::replay_tally tally() const {
    detail::replay_tally all;
    for (const auto& run : runs_) {
      all.failed += run.tally().failed;
      all.damaged += run.tally().damaged;
      all.waits += run.tally().waits;
      all.waited_ns += run.tally().waited_ns;
    }
    return all;
  }

  /// Returns: the blocks still in their slots.
  [[nodiscard]] std::vector<void*> left() const {
    std::vector<void*> all;
    for (const detail::replay_slot& slot : slots_)
      if (void* block = slot.block.load()) all.push_back(block);
    return all;
  }

  /// Effects: frees the blocks still in their slots.
  void free_left() {
    for (detail::replay_slot& slot : slots_)
      if (void* block = slot.block.exchange(nullptr)) allocators_.front().deallocate(block, slot.request);
  }

private:
  void run(const detail::replay_window& w) {
    std::vector<std::span<const detail::replay_op>> parts(lanes_);
    std::size_t at = 0;
    for (std::size_t i = 0; i < w.lane_counts.size(); at += w.lane_counts[i++])
      parts.at(i) = w.operations.subspan(at, w.lane_counts[i]);
    done_.assign(lanes_, 0);
    team_.run([&](std::uint32_t lane) { return step(lane, parts[lane]); });
  }

  detail::lane_stop step(std::uint32_t lane, std::span<const detail::replay_op> part) {
    const auto left = part.subspan(done_[lane]);
    const std::size_t done = runs_[lane].run(left);
    done_[lane] += done;
    const bool ends = done != 0 && left[done - 1].request.kind() == detail::replay_kind::end_thread;
    return ends ? detail::lane_stop::thread : detail::lane_stop::round;
  }

  detail::no_timer timer_;
  std::vector<detail::replay_slot> slots_;
  std::vector<Allocator> allocators_;
  std::vector<detail::replay_lane<Allocator>> runs_;
  std::uint32_t lanes_;
  std::vector<std::size_t> done_;
  detail::lane_team team_;
};

}  // namespace ashlar_test
