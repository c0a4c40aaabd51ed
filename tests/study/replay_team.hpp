// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles a trace and replays it window by window, as the command does, with threads that end as in the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ashlar/study/lane_team.hpp>
#include <ashlar/study/replay.hpp>
#include <ashlar/study/window_compiler.hpp>
#include <ashlar/trace/event.hpp>

namespace ashlar_test {

namespace study = ashlar::study;

/// Each lane's allocator is a copy of `prototype`.
template <class Allocator>
class replay_team {
public:
  explicit replay_team(const Allocator& prototype, std::uint32_t lanes, std::size_t slots = 4096)
      : slots_(slots), allocators_(lanes, prototype), lanes_(lanes), done_(lanes), team_(lanes) {
    for (Allocator& each : allocators_) runs_.emplace_back(each, slots_, timer_);
  }

  template <class Source>
  study::replay_counts run(Source source, std::size_t window = 512) {
    study::window_compiler compiler([this](const study::replay_window& w) { run(w); }, window);
    while (const auto e = source.next()) compiler.add(*e);
    return compiler.finish();
  }

  [[nodiscard]] study::replay_tally tally() const {
    study::replay_tally all;
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
    for (const study::replay_slot& slot : slots_)
      if (void* block = slot.block.load()) all.push_back(block);
    return all;
  }

private:
  void run(const study::replay_window& w) {
    std::vector<std::span<const study::replay_op>> parts(lanes_);
    std::size_t at = 0;
    for (std::size_t i = 0; i < w.lane_counts.size(); at += w.lane_counts[i++])
      parts.at(i) = w.operations.subspan(at, w.lane_counts[i]);
    done_.assign(lanes_, 0);
    team_.run([&](std::uint32_t lane) { return step(lane, parts[lane]); });
  }

  study::lane_stop step(std::uint32_t lane, std::span<const study::replay_op> part) {
    const auto left = part.subspan(done_[lane]);
    const std::size_t done = runs_[lane].run(left);
    done_[lane] += done;
    const bool ends = done != 0 && left[done - 1].request.kind() == study::replay_kind::end_thread;
    return ends ? study::lane_stop::thread : study::lane_stop::round;
  }

  study::no_timer timer_;
  std::vector<study::replay_slot> slots_;
  std::vector<Allocator> allocators_;
  std::vector<study::replay_lane<Allocator>> runs_;
  std::uint32_t lanes_;
  std::vector<std::size_t> done_;
  study::lane_team team_;
};

/// A trace from a list.
struct listed_events {
  std::vector<ashlar::trace::event> events;
  std::size_t at = 0;
  std::optional<ashlar::trace::event> next() {
    if (at == events.size()) return std::nullopt;
    return events[at++];
  }
};

}  // namespace ashlar_test
