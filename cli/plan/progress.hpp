// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reports the progress of a long solve, the best height and the bound so far, on standard error.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <ashlar/base/layout.hpp>

namespace ashlar::cli {

/// Prints a line when the planner reports, and one every few seconds in between, from a separate thread.
class plan_progress {
public:
  /// Silent for `patience` after the start, so that short solves print nothing.
  explicit plan_progress(std::chrono::milliseconds patience);
  plan_progress(const plan_progress&) = delete;
  plan_progress& operator=(const plan_progress&) = delete;
  ~plan_progress();

  void take(const plan::progress& now);

private:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds period{2000};

  void print();
  void repeat();

  clock::time_point start_ = clock::now();
  std::chrono::milliseconds patience_;
  std::mutex lock_;
  std::condition_variable over_;
  bool stopped_ = false;
  plan::progress last_{};
  clock::time_point printed_{};
  std::thread repeater_;
};

}  // namespace ashlar::cli
