// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replays a compiled trace once in this process, with all its lanes, and measures it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#include <ashlar/base/config.hpp>
#include <ashlar/study/histogram.hpp>
#include <ashlar/study/lane_team.hpp>
#include <ashlar/study/latency_timer.hpp>
#include <ashlar/study/replay.hpp>
#include <ashlar/study/replay_op.hpp>

#include "cli/replay/child.hpp"
#include "cli/replay/windows.hpp"

namespace ashlar::cli {

/// The use of the calling thread so far, or between two readings.
struct thread_usage {
  double cpu_ns = 0;
  double user_ns = 0;
  double system_ns = 0;
  std::uint64_t faults = 0;

  [[nodiscard]] static thread_usage now() noexcept;
  /// Effects: adds the use from `start` to `end`.
  void add(const thread_usage& start, const thread_usage& end) noexcept;
};

/// Returns: bytes resident now; 0 if the system does not tell.
[[nodiscard]] std::uint64_t resident_bytes() noexcept;
/// Returns: the peak of resident bytes since `reset_peak_resident`, or since the start of the process if that cannot
/// reset it.
[[nodiscard]] std::uint64_t peak_resident_bytes() noexcept;
void reset_peak_resident() noexcept;
/// Returns: bytes of private memory mapped for writing, resident or not; 0 if the system does not tell.
[[nodiscard]] std::uint64_t held_bytes() noexcept;

struct processor_clock {
  /// Returns: ticks now. Earlier instructions have finished, so that the timed work does not leak out.
  [[nodiscard]] static ASHLAR_INLINE std::uint64_t now() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    _mm_lfence();
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t ticks = 0;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks)::"memory");
    return ticks;
#else
    return detail::steady_ticks::now();
#endif
  }
};
static_assert(detail::tick_clock<processor_clock>);

using processor_timer = detail::latency_timer<processor_clock>;

/// One replay. Its own memory is allocated before the first operation, and counted into the baseline.
template <detail::replay_allocator Allocator, class Timer>
class replay_measurement {
public:
  using clock = std::chrono::steady_clock;

  /// `make_allocator()` and `make_timer()` are called once for each lane.
  template <class MakeAllocator, class MakeTimer>
  replay_measurement(window_reader& windows, MakeAllocator make_allocator, MakeTimer make_timer)
      : windows_(&windows), team_(windows.head().lanes) {
    const std::span<detail::replay_slot> slots = map_slots(windows.head().slots);
    lanes_.reserve(windows.head().lanes);
    for (std::uint32_t i = 0; i < windows.head().lanes; ++i) lanes_.emplace_back(make_allocator(), make_timer());
    for (lane_state& lane : lanes_) lane.replay.emplace_back(lane.allocator, slots, lane.timer);
  }

  [[nodiscard]] replay_result run() {
    replay_result result;
    reset_peak_resident();
    result.baseline_bytes = resident_bytes();
    while (windows_->next()) {
      team_.run([this](std::uint32_t lane) { return run_lane(lane); });
      result.wall_ns += window_ns();
      result.threads_ns += threads_ns();
      result.held_bytes = std::max(result.held_bytes, above(mapped_pages_bytes(), held_bytes()));
    }
    result.peak_bytes = above(result.baseline_bytes, peak_resident_bytes());
    result.end_bytes = above(result.baseline_bytes, resident_bytes());
    result.operations = windows_->head().operations;
    result.lanes = windows_->head().lanes;
    sum(result);
    return result;
  }

  /// Effects: calls `f(timer)` for each lane.
  template <class F>
  void for_each_timer(F&& f) const {
    for (const lane_state& lane : lanes_) f(lane.timer);
  }

private:
  // The data that a running lane writes; 64-byte lines of two lanes never share written data.
  struct alignas(128) lane_state {
    lane_state(Allocator a, Timer t) : allocator(std::move(a)), timer(std::move(t)) {}
    Allocator allocator;
    Timer timer;
    std::vector<detail::replay_lane<Allocator, Timer>> replay;  // one; built where `allocator` and `timer` stay
    thread_usage usage;
    clock::time_point start, end;
    std::size_t done = 0;  // operations of the window, by threads that have ended since
    bool idle = true;
  };

  static std::span<detail::replay_slot> map_slots(std::uint32_t count) {
    auto* slots = reinterpret_cast<detail::replay_slot*>(map_pages(std::size_t{count} * sizeof(detail::replay_slot)));
    std::uninitialized_value_construct_n(slots, count);
    return {slots, count};
  }

  [[nodiscard]] static std::uint64_t above(std::uint64_t before, std::uint64_t now) noexcept {
    return now > before ? now - before : 0;
  }

  // The work of one of the lane's threads in a window: all the rest, or up to its end.
  detail::lane_stop run_lane(std::uint32_t index) {
    lane_state& lane = lanes_[index];
    const std::span<const detail::replay_op> left = windows_->lane(index).subspan(lane.done);
    if (lane.done == 0) lane.idle = left.empty();
    if (lane.idle) return detail::lane_stop::round;
    const thread_usage before = thread_usage::now();
    if (lane.done == 0) lane.start = clock::now();
    const std::size_t done = lane.replay.front().run(left);
    lane.end = clock::now();
    lane.usage.add(before, thread_usage::now());
    lane.done += done;
    if (done != 0 && left[done - 1].request.kind() == detail::replay_kind::end_thread) return detail::lane_stop::thread;
    lane.done = 0;
    return detail::lane_stop::round;
  }

  [[nodiscard]] double window_ns() const {
    clock::time_point start = clock::time_point::max(), end = clock::time_point::min();
    for (const lane_state& lane : lanes_) {
      if (lane.idle) continue;
      start = std::min(start, lane.start);
      end = std::max(end, lane.end);
    }
    return std::chrono::duration<double, std::nano>(end - start).count();
  }

  [[nodiscard]] double threads_ns() const {
    clock::duration all{};
    for (const lane_state& lane : lanes_)
      if (!lane.idle) all += lane.end - lane.start;
    return std::chrono::duration<double, std::nano>(all).count();
  }

  void sum(replay_result& result) const {
    for (const lane_state& lane : lanes_) {
      result.cpu_ns += lane.usage.cpu_ns;
      result.busiest_cpu_ns = std::max(result.busiest_cpu_ns, lane.usage.cpu_ns);
      result.user_ns += lane.usage.user_ns;
      result.system_ns += lane.usage.system_ns;
      result.faults += lane.usage.faults;
      const detail::replay_tally& tally = lane.replay.front().tally();
      result.failed += tally.failed;
      result.damaged += tally.damaged;
      result.waits += tally.waits;
      result.waited_ns += static_cast<double>(tally.waited_ns);
    }
  }

  window_reader* windows_;
  std::vector<lane_state> lanes_;
  detail::lane_team team_;  // last: its threads end before their data
};

/// Returns: the measurements of a replay without timers.
template <class Allocator, class MakeAllocator>
[[nodiscard]] replay_result measure_throughput(window_reader& windows, MakeAllocator make_allocator) {
  replay_measurement<Allocator, detail::no_timer> m(windows, make_allocator, [] { return detail::no_timer(); });
  return m.run();
}

/// Returns: the figures of `h`, with values in ticks.
[[nodiscard]] inline latency_figures figures(const study::fine_histogram& h, double ns_per_tick) {
  const auto ns = [&](double q) { return static_cast<double>(h.quantile(q)) * ns_per_tick; };
  return {ns(0.5), ns(0.99), ns(0.999), static_cast<double>(h.max()) * ns_per_tick, h.count()};
}

/// Returns: the same with every call timed.
template <class Allocator, class MakeAllocator>
[[nodiscard]] replay_result measure_latency(window_reader& windows, MakeAllocator make_allocator) {
  const detail::tick_calibration<processor_clock> calibration;
  const std::uint64_t overhead = detail::clock_overhead<processor_clock>();
  replay_measurement<Allocator, processor_timer> m(windows, make_allocator, [&] { return processor_timer(overhead); });
  replay_result result = m.run();
  study::fine_histogram allocations, frees;
  m.for_each_timer([&](const processor_timer& t) {
    allocations.merge(t.allocations());
    frees.merge(t.deallocations());
  });
  const double ns_per_tick = calibration.ns_per_tick();
  result.timer_ns = static_cast<double>(overhead) * ns_per_tick;
  result.timer_step_ns = static_cast<double>(detail::clock_step<processor_clock>()) * ns_per_tick;
  result.allocations = figures(allocations, ns_per_tick);
  result.frees = figures(frees, ns_per_tick);
  allocations.merge(frees);
  result.calls = figures(allocations, ns_per_tick);
  return result;
}

}  // namespace ashlar::cli
