// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bounded queue between one producer and one consumer that can be kept full, so that its depth is a given.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "two_threads.hpp"

namespace bench {

// Each side keeps the last position of the other that it has seen, and looks again only when that does not do.
// The consumer leaves `least` elements in the ring until the producer is done.
template <class T>
class ring {
public:
  // Expects: `capacity` is a power of two, `least < capacity`.
  ring(std::size_t capacity, std::size_t least)
      : slots_(std::make_unique<T[]>(capacity)), mask_(capacity - 1), least_(least) {}

  // Effects: waits for room, then calls `fill(slot)`. The producer's alone.
  template <class F>
  void push(F fill) {
    const std::size_t at = pushed_.load(std::memory_order_relaxed);
    for (patience waiting; at - popped_seen_ > mask_; popped_seen_ = popped_.load(std::memory_order_acquire))
      waiting.wait();
    fill(slots_[at & mask_]);
    pushed_.store(at + 1, std::memory_order_release);
  }

  // Effects: lets the consumer take what is left. The producer's alone.
  void close() noexcept { closed_.store(true, std::memory_order_release); }

  // Effects: waits for an element and calls `use(slot)`. Returns: false at the end. The consumer's alone.
  template <class F>
  bool pop(F use) {
    const std::size_t at = popped_.load(std::memory_order_relaxed);
    for (patience waiting; pushed_seen_ - at <= keep_; waiting.wait()) {
      if (closed_.load(std::memory_order_acquire)) keep_ = 0;
      pushed_seen_ = pushed_.load(std::memory_order_acquire);
      if (keep_ == 0 && pushed_seen_ == at && closed_.load(std::memory_order_relaxed)) return false;
      if (pushed_seen_ - at > keep_) break;
    }
    use(slots_[at & mask_]);
    popped_.store(at + 1, std::memory_order_release);
    return true;
  }

private:
  std::unique_ptr<T[]> slots_;
  std::size_t mask_;
  std::size_t least_;
  alignas(128) std::atomic<std::size_t> pushed_ = 0;
  std::size_t popped_seen_ = 0;
  alignas(128) std::atomic<std::size_t> popped_ = 0;
  std::size_t pushed_seen_ = 0;
  std::size_t keep_ = least_;
  alignas(128) std::atomic<bool> closed_ = false;
};

}  // namespace bench
