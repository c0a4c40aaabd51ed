// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A latch whose waiter yields. That of libstdc++ sleeps in a condition variable on Windows; under wine a test has
// waited for minutes there, after the last count.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

namespace ashlar_test {

class latch {
public:
  explicit latch(std::ptrdiff_t expected) : left_(expected) {}

  void count_down() { left_.fetch_sub(1, std::memory_order_release); }
  void wait() const {
    while (left_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  }

private:
  std::atomic<std::ptrdiff_t> left_;
};

}  // namespace ashlar_test
