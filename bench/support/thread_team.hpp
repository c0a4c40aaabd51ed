// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A team of threads on the machine's cores, and the record of its pace.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "two_threads.hpp"
#include "usage.hpp"

namespace bench {

inline std::size_t cores_allowed() noexcept {
  cpu_set_t allowed;
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? static_cast<std::size_t>(CPU_COUNT(&allowed)) : 1;
}

// Effects: runs f(0) … f(threads - 1) at once, each on its own core if there are enough cores, else as the system
// schedules them.
inline void in_threads(std::size_t threads, const std::function<void(std::size_t)>& f) {
  const bool has_cores = threads <= cores_allowed();
  std::vector<std::thread> all;
  for (std::size_t index = 0; index < threads; ++index)
    all.emplace_back([&f, index, has_cores] {
      if (has_cores) keep_to_core(static_cast<int>(index));
      f(index);
    });
  for (std::thread& each : all) each.join();
}

// As `patience`; with more threads than cores it yields soon.
class team_patience {
public:
  static void expect_threads(std::size_t threads) noexcept { spins_at_most = threads > cores_allowed() ? 16 : 4096; }

  void wait() noexcept {
    if (++spins_ < spins_at_most) return patience_.wait();
    spins_ = 0;
    std::this_thread::yield();
  }

private:
  static inline unsigned spins_at_most = 4096;
  patience patience_;
  unsigned spins_ = 0;
};

// One thread's windows of equally many blocks. The first ones warm up. Neighbours share no cache line.
class alignas(128) pace {
public:
  explicit pace(std::size_t window) : window_(window), left_(window) { start(); }

  void start() noexcept { last_ = clock_ms(CLOCK_MONOTONIC); }

  void count() {
    if (--left_ == 0) finish_window(window_), left_ = window_;
  }

  // Effects: ends a window of `blocks` blocks. Its time starts at the end of the last window, or at `start`.
  void finish_window(std::size_t blocks) {
    const double now = clock_ms(CLOCK_MONOTONIC);
    ns_.push_back((now - last_) * 1e6 / static_cast<double>(blocks));
    last_ = now;
  }

  [[nodiscard]] const std::vector<double>& ns() const noexcept { return ns_; }
  [[nodiscard]] double sum() const noexcept { return std::accumulate(ns_.begin(), ns_.end(), 0.0); }

private:
  std::size_t window_, left_;
  double last_ = 0;
  std::vector<double> ns_;
};

// The results of a workload.
struct findings {
  std::vector<double> ns;  // for each block, of each window after the first ones, in ascending order
  double fairness = 1;     // time of the slowest thread by that of the fastest, among threads with the same work
  std::uint64_t checksum = 0;

  [[nodiscard]] double quantile(double q) const {
    return ns[std::min(ns.size() - 1, static_cast<std::size_t>(q * static_cast<double>(ns.size())))];
  }

  // The paces of threads that do the same work concurrently: they share the cost of a window.
  [[nodiscard]] static findings of(const std::vector<pace>& paces, std::uint64_t checksum) {
    findings found{.ns = {}, .checksum = checksum};
    const auto [fastest, slowest] =
        std::minmax_element(paces.begin(), paces.end(), [](const pace& a, const pace& b) { return a.sum() < b.sum(); });
    found.fairness = slowest->sum() / fastest->sum();
    for (std::size_t i = paces[0].ns().size() / 10; i < paces[0].ns().size(); ++i)
      found.ns.push_back(paces[0].ns()[i] / static_cast<double>(paces.size()));
    std::sort(found.ns.begin(), found.ns.end());
    return found;
  }
};

}  // namespace bench
