// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tells how a long solve is doing: the best height so far and what is proved, now and then, on standard error.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <ashlar/plan/options.hpp>

namespace ashlar::cli {

/// Prints a line when the planner reports, and one every few seconds in between, from a thread of its own.
class plan_progress {
public:
  /// Silent for `patience` after the start, so that short solves say nothing.
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
