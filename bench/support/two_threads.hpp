// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads, each on its own core, and the cost of a cache line that travels between them.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "usage.hpp"

namespace bench {

// Effects: keeps the calling thread on the index-th core of the process; on none if there are fewer.
inline void keep_to_core(int index) noexcept {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) <= index) return;
  int core = 0;
  for (int left = index;; ++core)
    if (CPU_ISSET(core, &allowed) && left-- == 0) break;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
}

// Effects: runs f(0) and f(1) at once.
template <class F>
void in_two_threads(F f) {
  const auto body = [&f](int index) { keep_to_core(index), f(index); };
  std::thread first(body, 0), second(body, 1);
  first.join(), second.join();
}

// A wait that yields the core once it is long, so that a machine with one core makes progress.
class patience {
public:
  void wait() noexcept {
    if (++spins_ % 4096 == 0) std::this_thread::yield();
    else pause();
  }

private:
  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
  unsigned spins_ = 0;
};

// Returns: nanoseconds of the round trip of a cache line to the other core: the median of 21 times 2,000 trips. Hosts
// move virtual cores; figures of two threads are comparable only at equal round trips.
inline double ping_pong_ns() {
  constexpr unsigned trips = 2000;
  std::array<double, 21> costs{};
  alignas(64) std::atomic<unsigned> ball{0};
  in_two_threads([&](int index) {
    unsigned mine = static_cast<unsigned>(index);
    for (double& cost : costs) {
      const double start = clock_ms(CLOCK_MONOTONIC);
      for (unsigned trip = 0; trip < trips; ++trip, mine += 2) {
        for (patience waiting; ball.load(std::memory_order_acquire) != mine;) waiting.wait();
        ball.store(mine + 1, std::memory_order_release);
      }
      if (index == 0) cost = (clock_ms(CLOCK_MONOTONIC) - start) * 1e6 / trips;
    }
  });
  std::sort(costs.begin(), costs.end());
  return costs[costs.size() / 2];
}

}  // namespace bench
