// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bounded queue between one producer and one consumer that can be kept full, so that its depth is fixed.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "two_threads.hpp"

namespace bench {

// Each side keeps the last known position of the other, and reads it again only if that is not enough. The consumer
// leaves `least` elements in the ring until the producer has closed it. `Patience` is the way to wait. Both calls are
// inlined, so that the code of every peer is alike: out of line, a use with captures stalls on its copy.
template <class T, class Patience = patience>
class ring {
public:
  // Expects: `capacity` is a power of two, `least < capacity`.
  ring(std::size_t capacity, std::size_t least)
      : slots_(std::make_unique<T[]>(capacity)), mask_(capacity - 1), left_behind_(least) {}

  // Effects: waits for room, then calls `fill(slot)`. For the producer.
  template <class F>
  [[gnu::always_inline]] void push(F&& fill) {
    const std::size_t at = pushed_.load(std::memory_order_relaxed);
    for (Patience waiting; at - popped_seen_ > mask_; popped_seen_ = popped_.load(std::memory_order_acquire))
      waiting.wait();
    fill(slots_[at & mask_]);
    pushed_.store(at + 1, std::memory_order_release);
  }

  // Effects: lets the consumer take the rest. For the producer.
  void close() noexcept { closed_.store(true, std::memory_order_release); }

  // Effects: waits for an element and calls `use(slot)`. Returns: false at the end. For the consumer.
  template <class F>
  [[gnu::always_inline]] bool pop(F&& use) {
    const std::size_t at = popped_.load(std::memory_order_relaxed);
    if (pushed_seen_ - at <= left_behind_ && !wait_for_more(at)) return false;
    use(slots_[at & mask_]);
    popped_.store(at + 1, std::memory_order_release);
    return true;
  }

private:
  bool wait_for_more(std::size_t at) {
    for (Patience waiting;; waiting.wait()) {
      const bool closed = closed_.load(std::memory_order_acquire);  // before the last check for elements
      if (closed) left_behind_ = 0;
      pushed_seen_ = pushed_.load(std::memory_order_acquire);
      if (pushed_seen_ - at > left_behind_) return true;
      if (closed) return false;
    }
  }

  std::unique_ptr<T[]> slots_;
  std::size_t mask_;
  alignas(128) std::atomic<std::size_t> pushed_ = 0;
  std::size_t popped_seen_ = 0;
  alignas(128) std::atomic<std::size_t> popped_ = 0;
  std::size_t pushed_seen_ = 0;
  std::size_t left_behind_;
  alignas(128) std::atomic<bool> closed_ = false;
};

}  // namespace bench
