// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reports the progress of a long solve, the best height and the bound so far, on standard error.
#include "cli/plan/progress.hpp"

#include <algorithm>
#include <cstdio>

namespace ashlar::cli {

plan_progress::plan_progress(std::chrono::milliseconds patience)
    : patience_(patience), repeater_([this] { repeat(); }) {}

plan_progress::~plan_progress() {
  {
    const std::lock_guard held(lock_);
    stopped_ = true;
  }
  over_.notify_all();
  repeater_.join();
}

void plan_progress::take(const plan::progress& now) {
  const std::lock_guard held(lock_);
  const bool better = now.height != last_.height || now.lower_bound != last_.lower_bound;
  last_ = now;
  if (better) print();
}

/// Expects: the lock is held.
void plan_progress::print() {
  const clock::time_point now = clock::now();
  // Bounds can rise a thousand times a second; the repeater prints the last of them.
  if (now - start_ < patience_ || now - printed_ < std::chrono::milliseconds(100)) return;
  printed_ = now;
  std::fprintf(stderr, "%8.1f s  height %llu  bound %llu  nodes %llu\n",
               std::chrono::duration<double>(now - start_).count(), static_cast<unsigned long long>(last_.height),
               static_cast<unsigned long long>(last_.lower_bound), static_cast<unsigned long long>(last_.nodes));
}

void plan_progress::repeat() {
  std::unique_lock held(lock_);
  while (!over_.wait_for(held, period, [this] { return stopped_; }))
    if (last_.height != 0) print();
}

}  // namespace ashlar::cli
