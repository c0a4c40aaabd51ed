// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sequences of events: random but well-formed ones, of an imaginary program of several threads, and listed ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include <ashlar/base/event.hpp>

namespace ashlar_test {

namespace trace = ashlar::trace;

/// A source of `count` events, the same for the same seed. About one call in 20 fails, and one free in 50 is of an
/// unknown object; of several threads some end and new ones start. No slot is used again.
class random_events {
public:
  random_events(unsigned seed, std::size_t count, std::uint32_t threads = 4, std::size_t most_live = 300)
      : random_(seed), left_(count), threads_(threads), most_live_(most_live) {}

  std::optional<trace::event> next() {
    if (left_ == 0) return std::nullopt;
    --left_;
    trace::event e;
    e.time_ns = now_ns_ += below(5000);
    e.thread = first_thread_ + static_cast<std::uint32_t>(below(threads_));
    choose(e);
    e.slot = static_cast<std::uint32_t>(e.object);
    e.old_slot = static_cast<std::uint32_t>(e.old_object);
    return e;
  }

private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  void choose(trace::event& e) {
    if (below(200) == 0) return void(e.op = trace::operation::mark);
    if (threads_ > 1 && below(200) == 0) return end_thread(e);
    const bool full = live_.size() >= most_live_;
    if (!full && (live_.empty() || below(5) < 3)) allocate(e);
    else release(e);
  }

  void end_thread(trace::event& e) {
    e.op = trace::operation::thread_end;
    e.thread = first_thread_++;  // its number is not reused, a new thread gets the next one
  }

  void allocate(trace::event& e) {
    static constexpr trace::operation calls[] = {trace::operation::malloc_,  trace::operation::calloc_,
                                                 trace::operation::realloc_, trace::operation::aligned_alloc_,
                                                 trace::operation::new_,     trace::operation::new_array_};
    e.op = calls[below(6)];
    e.size = below(std::uint64_t{1} << below(19));
    e.stack = static_cast<std::uint32_t>(below(7));
    if (e.op == trace::operation::aligned_alloc_) e.alignment = std::uint64_t{16} << below(4);
    const bool moves = e.op == trace::operation::realloc_ && !live_.empty() && below(2) == 0;
    const std::size_t old = live_.empty() ? 0 : static_cast<std::size_t>(below(live_.size()));
    if (moves) e.old_object = live_[old];
    if (below(20) == 0) return;  // object 0: the call failed
    e.object = ++objects_;
    if (moves) live_[old] = e.object;
    else live_.push_back(e.object);
  }

  void release(trace::event& e) {
    static constexpr trace::operation calls[] = {trace::operation::free_, trace::operation::delete_,
                                                 trace::operation::delete_array_};
    e.op = calls[below(3)];
    if (below(50) == 0) return;  // object 0: unknown
    const auto i = static_cast<std::size_t>(below(live_.size()));
    e.object = live_[i];
    live_[i] = live_.back();
    live_.pop_back();
  }

  std::mt19937 random_;
  std::size_t left_;
  std::uint32_t threads_;
  std::size_t most_live_;
  std::uint32_t first_thread_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t objects_ = 0;
  std::vector<std::uint64_t> live_;
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
