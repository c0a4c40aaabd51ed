// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Three threads try to lock: one at a time succeeds, and sees the writes of the last holder. Waiting is repeated tries.
#include <checker.hpp>

#include <ashlar/base/lock.hpp>

void model() {
  ashlar::shipped_spin_lock lock;
  checker::atomics::plain<int> guarded = 0;
  int entered[3] = {};
  const auto enter = [&](int& count) {
    if (!lock.try_lock()) return;
    guarded = guarded + 1;
    ++count;
    lock.unlock();
  };
  checker::run_threads([&] { enter(entered[0]), enter(entered[0]); }, [&] { enter(entered[1]); },
                       [&] { enter(entered[2]); });
  checker::check(guarded == entered[0] + entered[1] + entered[2], "no change under the lock is lost");
  checker::check(entered[0] + entered[1] + entered[2] > 0 && lock.try_lock(), "the lock is free again");
}
