// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of streams: the one with the oldest record is next, unless it must wait for a record of another stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/trace/index.hpp>
#include <ashlar/detail/trace/record.hpp>
#include <ashlar/detail/trace/resolver.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

/// One stream: its chunks, at most one of which is in memory, and its position.
struct record_stream {
  std::span<const chunk_entry> chunks = {};  ///< Not loaded yet.
  std::vector<record> records = {};          ///< The chunk in memory.
  std::size_t at = 0;                        ///< The next record in it.
  std::uint64_t deadline = 0;                ///< The end of its wait, in ticks.
  bool is_overdue = false;                   ///< Its wait is over.
  stream_state state = {};

  [[nodiscard]] bool loaded() const noexcept { return at < records.size(); }
  [[nodiscard]] bool done() const noexcept { return !loaded() && chunks.empty(); }
  [[nodiscard]] const record& head() const noexcept { return records[at]; }

  /// Returns: the time of its next record, or a lower bound while that is still on disk.
  [[nodiscard]] std::uint64_t time() const noexcept {
    return loaded() ? records[at].time : chunks.front().header.first_time;
  }
};

/// All streams in the order of time. Complexity: O(log streams) for each change of the stream.
class stream_merge {
public:
  explicit stream_merge(std::span<const chunk_entry> events) {
    while (!events.empty()) {
      const std::uint32_t id = events.front().header.stream;
      const auto same = [id](const chunk_entry& e) { return e.header.stream == id; };
      const auto n = std::find_if_not(events.begin(), events.end(), same) - events.begin();
      streams_.push_back({.chunks = events.first(static_cast<std::size_t>(n)), .state = {.thread = id}});
      events = events.subspan(static_cast<std::size_t>(n));
    }
    for (std::size_t i = 0; i < streams_.size(); ++i) push(i);
  }

  /// Returns: the next stream, or null at the end. It stays next while it is the oldest. A stream put off returns when
  /// `ready(stream)`, or when all others are past its deadline.
  template <class Ready>
  [[nodiscard]] record_stream* next(Ready&& ready) {
    if (!waiting_.empty()) recall(ready);
    if (current_ != none && is_first(current_)) return &streams_[current_];
    if (current_ != none && !streams_[current_].done()) push(current_);
    current_ = heap_.empty() ? none : pop();
    return current_ == none ? nullptr : &streams_[current_];
  }

  /// Effects: puts off the stream last returned by `next` until the others have caught up.
  void put_off(std::uint64_t ticks) {
    record_stream& s = streams_[current_];
    s.deadline = s.time() + std::min(ticks, ~std::uint64_t{0} - s.time());
    waiting_.push_back(std::exchange(current_, none));
  }

private:
  static constexpr std::size_t none = ~std::size_t{0};

  [[nodiscard]] std::pair<std::uint64_t, std::size_t> key(std::size_t i) const noexcept {
    return {streams_[i].time(), i};
  }

  [[nodiscard]] bool is_first(std::size_t i) const noexcept {
    return !streams_[i].done() && (heap_.empty() || key(i) < heap_.front());
  }

  void push(std::size_t i) {
    heap_.push_back(key(i));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
  }

  [[nodiscard]] std::size_t pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    const std::size_t i = heap_.back().second;
    heap_.pop_back();
    return i;
  }

  /// Returns: the time that all streams have reached, except those that wait.
  [[nodiscard]] std::uint64_t reached() const noexcept {
    std::uint64_t time = heap_.empty() ? ~std::uint64_t{0} : heap_.front().first;
    if (current_ != none && !streams_[current_].done()) time = std::min(time, streams_[current_].time());
    return time;
  }

  template <class Ready>
  void recall(Ready&& ready) {
    const bool alone = heap_.empty() && (current_ == none || streams_[current_].done());
    const std::uint64_t now = reached();
    const auto comes_back = [&](std::size_t i) {
      record_stream& s = streams_[i];
      s.is_overdue = !ready(s) && (alone || s.deadline < now);
      return s.is_overdue || ready(s);
    };
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), comes_back);
    if (found == waiting_.end()) return;
    push(*found);
    waiting_.erase(found);
  }

  std::vector<record_stream> streams_;
  std::vector<std::pair<std::uint64_t, std::size_t>> heap_;  // (time, stream), oldest first
  std::vector<std::size_t> waiting_;
  std::size_t current_ = none;
};

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
