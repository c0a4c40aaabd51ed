// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts the allocations of each call stack, over the events of a trace.
#include "cli/export/count.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <ashlar/base/event.hpp>
#include <ashlar/detail/support/block_table.hpp>

#include "cli/report/trace.hpp"

namespace ashlar::cli {

namespace {

class stack_counter {
public:
  /// `stacks`: the largest id. What has a greater one counts as without a stack.
  explicit stack_counter(std::uint32_t stacks) : stacks_(stacks + std::size_t{1}) {}

  void add(const trace::event& e) {
    now_ns_ = std::max(now_ns_, e.time_ns);
    if (trace::is_allocation(e.op)) allocate(e);
    if (trace::is_release(e.op)) {
      std::uint64_t& last = last_born_[e.thread];
      release(e.object, e.slot, e.object != 0 && last == e.object);
      last = 0;
    }
  }

  /// The counter must not be used again.
  [[nodiscard]] counted_stacks finish() {
    counted_stacks all{{}, now_ns_, peak_ns_, curve_.points()};
    for (counted_stack& s : stacks_) all.sums.push_back(current(s));
    return all;
  }

private:
  /// A stack takes over what lives at a new peak with its next event: a peak is O(1), however many stacks there are.
  struct counted_stack {
    stack_amounts sum;
    std::uint64_t peaks = 0;  ///< Of the program, that `sum.at_peak` knows of.
  };
  struct object {
    std::uint64_t id = 0;  ///< 0: the slot is free.
    std::uint64_t size = 0;
    std::uint64_t born_ns = 0;
    std::uint32_t stack = 0;
  };

  stack_amounts& current(counted_stack& s) noexcept {
    if (std::exchange(s.peaks, peaks_) != peaks_) s.sum.at_peak = s.sum.live;
    return s.sum;
  }
  stack_amounts& current(std::uint32_t stack) noexcept { return current(stacks_[stack]); }

  void allocate(const trace::event& e) {
    if (e.object == 0) return;
    if (e.old_object != 0) release(e.old_object, e.old_slot, false);
    const std::uint32_t stack = e.stack < stacks_.size() ? e.stack : 0;
    live_.reach(e.slot);
    live_[e.slot] = {e.object, e.size, now_ns_, stack};
    last_born_[e.thread] = e.object;
    stack_amounts& sum = current(stack);
    sum.allocated.add(e.size);
    sum.live.add(e.size);
    if (sum.live.bytes > sum.most.bytes) sum.most = sum.live;
    live_bytes_ += e.size;
    curve_.record(now_ns_, live_bytes_);
    if (live_bytes_ <= peak_bytes_) return;
    peak_bytes_ = live_bytes_;
    peak_ns_ = now_ns_;
    ++peaks_;
  }

  void release(std::uint64_t id, std::uint32_t slot, bool is_temporary) {
    if (id == 0 || slot >= live_.size() || live_[slot].id != id) return;
    const object o = std::exchange(live_[slot], {});
    stack_amounts& sum = current(o.stack);
    sum.live.remove(o.size);
    sum.temporary += is_temporary ? 1 : 0;
    sum.lifetime_ns += now_ns_ - o.born_ns;
    live_bytes_ -= o.size;
    curve_.record(now_ns_, live_bytes_);
  }

  std::vector<counted_stack> stacks_;                           // by id
  detail::block_table<object> live_;                            // by slot
  std::unordered_map<std::uint32_t, std::uint64_t> last_born_;  // by thread; 0: it has freed since
  study::timeline curve_;
  std::uint64_t now_ns_ = 0, live_bytes_ = 0, peak_bytes_ = 0, peak_ns_ = 0, peaks_ = 0;
};

}  // namespace

counted_stacks count_stacks(trace_input& input) {
  stack_counter counter(input.stacks().size());
  for (auto batch = input.next_batch(); !batch.empty(); batch = input.next_batch())
    for (const trace::event& e : batch) counter.add(e);
  return counter.finish();
}

}  // namespace ashlar::cli
