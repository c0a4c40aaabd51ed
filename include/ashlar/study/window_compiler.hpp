// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles the events of a trace into windows of operations that threads replay without any lookup.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/detail/support/id_map.hpp>
#include <ashlar/study/replay_op.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Slots for the live objects of a trace: dense numbers, reused in later windows but never within one. Invariant: a
/// slot is live, free, or resting until the window ends. Their number never exceeds the largest number of live objects
/// plus the operations of one window.
class slot_table {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// Returns: the slot of the new `object`, or `none` if it is live already. Expects: `object != 0`.
  [[nodiscard]] std::uint32_t take(std::uint64_t object) {
    const std::uint32_t slot = free_.empty() ? count_ : free_.back();
    if (!slots_.insert(object, slot)) return none;
    if (free_.empty()) ++count_;
    else free_.pop_back();
    return slot;
  }

  /// Returns: the slot of `object`, which is dead from now on, or `none` if it is not live.
  [[nodiscard]] std::uint32_t give_back(std::uint64_t object) {
    const std::uint32_t slot = find(object);
    if (slot == none) return none;
    slots_.erase(object);
    resting_.push_back(slot);
    return slot;
  }

  [[nodiscard]] std::uint32_t find(std::uint64_t object) noexcept {
    const std::uint32_t* slot = object == 0 ? nullptr : slots_.find(object);
    return slot == nullptr ? none : *slot;
  }

  /// Effects: slots given back in the window that ends may be taken again.
  void end_window() {
    free_.insert(free_.end(), resting_.begin(), resting_.end());
    resting_.clear();
  }

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t live() const noexcept { return slots_.size(); }

private:
  id_map<std::uint32_t> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> resting_;
  std::uint32_t count_ = 0;
};

/// Lanes for the threads of a trace: as many as the threads that lived at once, so thousands of short threads need few.
/// A thread keeps its lane from its first operation to its end; then the next new thread gets the lane. Lane 0 is never
/// reused: it is the thread that started the replay.
///
/// Memory: O(threads), ended ones included, because later operations may refer to them.
class lane_table {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// Returns: the thread's lane. An ended thread with late frees borrows a lane for one operation.
  [[nodiscard]] std::uint32_t lane_of(std::uint32_t thread) {
    const std::uint64_t key = std::uint64_t{thread} + 1;  // 0 is not a key
    if (const std::uint32_t* lane = lanes_.find(key)) return *lane;
    const bool has_ended = ended_.find(key) != nullptr;
    if (free_.empty()) free_.push_back(count_++);
    const std::uint32_t lane = free_.back();
    if (has_ended) return lane;
    free_.pop_back();
    lanes_.insert(key, lane);
    return lane;
  }

  /// Returns: the lane that becomes free, or `none`.
  std::uint32_t end(std::uint32_t thread) {
    const std::uint64_t key = std::uint64_t{thread} + 1;
    const std::uint32_t* found = lanes_.find(key);
    if (found == nullptr || *found == 0) return none;
    const std::uint32_t lane = *found;
    free_.push_back(lane);
    lanes_.erase(key);
    ended_.insert(key, true);
    return lane;
  }

  /// Returns: the number of lanes.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  /// Returns: the number of threads that passed a lane on.
  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_.size(); }

private:
  id_map<std::uint32_t> lanes_;
  id_map<bool> ended_;
  std::vector<std::uint32_t> free_;
  std::uint32_t count_ = 0;
};

/// The outcome of compiling a trace.
struct replay_counts {
  std::uint64_t operations = 0;  ///< Compiled, and so replayed.
  std::uint64_t windows = 0;
  std::uint32_t slot_count = 0;
  std::uint32_t lanes = 0;            ///< Threads at once.
  std::uint64_t ended = 0;            ///< Threads that ended while the program went on.
  std::uint64_t never_freed = 0;      ///< Objects live at the end: they stay live, as in the program.
  std::uint64_t failed = 0;           ///< Calls that returned null: skipped.
  std::uint64_t unknown_objects = 0;  ///< Frees of objects allocated before the recording: skipped.
  std::uint64_t impossible = 0;       ///< Objects born twice, sizes beyond any address space: skipped.
  std::uint64_t sized_frees = 0;      ///< Frees with the size of the object.
  std::uint64_t crossing = 0;         ///< Objects freed or moved by a thread that did not allocate them.
  std::uint64_t live_bytes = 0;       ///< Bytes requested for the objects live at the end.
  std::uint64_t peak_live_bytes = 0;  ///< The maximum of the bytes requested for live objects.
};

/// The operations of one window: the operations of lane 0 in order, then of lane 1, ...
struct replay_window {
  std::span<const replay_op> operations;
  std::span<const std::uint32_t> lane_counts;
};

/// Cuts a trace into windows. Within a window a slot is filled at most once and emptied at most once, and each lane
/// keeps the order of its threads. So a lane waits only for a slot that it empties to be filled, by an operation
/// earlier in the trace; no cycle of waits can arise. At the end of a thread its lane has an `end_thread`.
///
/// Calls `sink(const replay_window&)` for each window. Complexity: O(1) amortised an event; memory O(live objects +
/// window + threads).
template <class Sink>
class window_compiler {
public:
  static constexpr std::size_t default_window = std::size_t{64} << 10;

  explicit window_compiler(Sink sink, std::size_t window = default_window) : sink_(std::move(sink)), window_(window) {}

  void add(const trace::event& e) {
    switch (e.op) {
      case trace::operation::malloc_:
      case trace::operation::aligned_alloc_:
      case trace::operation::new_:
      case trace::operation::new_array_: return allocate(e, replay_kind::allocate);
      case trace::operation::calloc_: return allocate(e, replay_kind::allocate_zeroed);
      case trace::operation::realloc_: return reallocate(e);
      case trace::operation::free_:
      case trace::operation::delete_:
      case trace::operation::delete_array_: return deallocate(e);
      case trace::operation::mark:
      case trace::operation::span_begin:
      case trace::operation::span_end:
      case trace::operation::thread_name: return;
      case trace::operation::thread_end: return end_thread(e.thread);
    }
  }

  /// Effects: passes the last window on. Returns: the counts of the trace.
  replay_counts finish() {
    end_window();
    counts_.slot_count = slots_.count();
    counts_.lanes = threads_.count();
    counts_.ended = threads_.ended();
    counts_.never_freed = slots_.live();
    return counts_;
  }

private:
  struct object {
    std::uint64_t size;
    std::uint32_t thread;
  };

  [[nodiscard]] static bool possible(const trace::event& e) noexcept {
    return e.size < replay_request::size_limit && e.alignment < replay_request::alignment_limit &&
           (e.alignment == 0 || std::has_single_bit(e.alignment));
  }

  void allocate(const trace::event& e, replay_kind kind) {
    if (e.object == 0) return void(++counts_.failed);
    const std::uint32_t slot = possible(e) ? slots_.take(e.object) : slot_table::none;
    if (slot == slot_table::none) return void(++counts_.impossible);
    begin(slot, e);
    push(e.thread, {slot, 0, replay_request(kind, e.size, e.alignment)});
  }

  void reallocate(const trace::event& e) {
    // Without an old block a reallocation is an allocation.
    if (slots_.find(e.old_object) == slot_table::none) {
      if (e.old_object != 0) ++counts_.unknown_objects;
      return allocate(e, replay_kind::allocate);
    }
    if (e.object == 0) return void(++counts_.failed);
    const std::uint32_t slot = possible(e) ? slots_.take(e.object) : slot_table::none;
    if (slot == slot_table::none) return void(++counts_.impossible);
    const std::uint32_t old_slot = slots_.give_back(e.old_object);
    end(old_slot, e.thread);
    begin(slot, e);
    push(e.thread, {slot, old_slot, replay_request(replay_kind::reallocate, e.size, 0)});
  }

  void deallocate(const trace::event& e) {
    const std::uint32_t slot = slots_.give_back(e.object);
    if (slot == slot_table::none) return void(++counts_.unknown_objects);
    end(slot, e.thread);
    const bool sized = e.size != 0 && e.size == objects_[slot].size;  // otherwise the program frees with a wrong size
    if (sized) ++counts_.sized_frees;
    push(e.thread, {slot, 0, replay_request(sized ? replay_kind::deallocate_sized : replay_kind::deallocate, 0, 0)});
  }

  void begin(std::uint32_t slot, const trace::event& e) {
    if (slot >= objects_.size()) objects_.resize(slot + std::size_t{1});
    objects_[slot] = {e.size, e.thread};
    counts_.live_bytes += e.size;
    counts_.peak_live_bytes = std::max(counts_.peak_live_bytes, counts_.live_bytes);
  }

  void end(std::uint32_t slot, std::uint32_t thread) {
    counts_.live_bytes -= objects_[slot].size;
    if (objects_[slot].thread != thread) ++counts_.crossing;
  }

  void push(std::uint32_t thread, replay_op op) {
    ++counts_.operations;
    push_to(threads_.lane_of(thread), op);
  }

  void end_thread(std::uint32_t thread) {
    const std::uint32_t lane = threads_.end(thread);
    if (lane != lane_table::none) push_to(lane, {0, 0, replay_request(replay_kind::end_thread, 0, 0)});
  }

  void push_to(std::uint32_t lane, replay_op op) {
    if (lane >= lane_counts_.size()) lane_counts_.resize(lane + 1, 0);
    ++lane_counts_[lane];
    operations_.push_back(op);
    lane_of_.push_back(lane);
    if (operations_.size() == window_) end_window();
  }

  void end_window() {
    if (operations_.empty()) return;
    sort_by_lane();
    sink_(replay_window{sorted_, lane_counts_});
    operations_.clear();
    lane_of_.clear();
    lane_counts_.assign(lane_counts_.size(), 0);
    slots_.end_window();
    ++counts_.windows;
  }

  // A counting sort: stable, so each lane keeps the order of the trace.
  void sort_by_lane() {
    next_.resize(lane_counts_.size());
    std::exclusive_scan(lane_counts_.begin(), lane_counts_.end(), next_.begin(), std::uint32_t{0});
    sorted_.resize(operations_.size());
    for (std::size_t i = 0; i < operations_.size(); ++i) sorted_[next_[lane_of_[i]]++] = operations_[i];
  }

  Sink sink_;
  std::size_t window_;
  slot_table slots_;
  lane_table threads_;
  std::vector<object> objects_;        // by slot
  std::vector<replay_op> operations_;  // in the order of the trace
  std::vector<std::uint32_t> lane_of_;
  std::vector<replay_op> sorted_;
  std::vector<std::uint32_t> lane_counts_;
  std::vector<std::uint32_t> next_;
  replay_counts counts_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
