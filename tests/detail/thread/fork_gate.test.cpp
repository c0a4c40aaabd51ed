// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the gate before the locks of a fork: it closes when no thread is inside, and threads inside are never
// stopped.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/detail/thread/fork.hpp>

#include "tests/support/deadline.hpp"

namespace {

using ashlar::detail::fork_gate;

TEST(fork_gate, closes_while_no_thread_is_inside) {
  const ashlar_test::deadline hang;
  fork_gate gate;
  gate.close();
  gate.open();
  std::atomic<bool> is_inside = true, is_closed = false;
  gate.enter();
  std::thread closing([&] {
    gate.close();
    is_closed = !is_inside;
    gate.open();
  });
  gate.enter();  // gives way for a moment, and then is not held up
  gate.leave();
  EXPECT_FALSE(is_closed);
  is_inside = false;
  gate.leave();
  closing.join();
  EXPECT_TRUE(is_closed);
}

TEST(fork_gate, lets_none_in_until_it_opens) {
  const ashlar_test::deadline hang;
  fork_gate gate;
  std::atomic<bool> is_closed = true;
  gate.close();
  std::thread entering([&] {
    gate.enter();
    EXPECT_FALSE(is_closed);
    gate.leave();
  });
  std::this_thread::yield();
  is_closed = false;
  gate.open();
  entering.join();
}

TEST(fork_gate, closes_beside_threads_that_are_inside_most_of_the_time) {
  const ashlar_test::deadline hang;
  fork_gate gate;
  std::atomic<bool> stop = false;
  std::atomic<int> begun = 0;
  const auto enter_often = [&] {
    for (++begun; !stop;) {
      gate.enter();
      std::this_thread::yield();
      gate.leave();
    }
  };
  std::thread one(enter_often), two(enter_often), three(enter_often);
  while (begun != 3) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) gate.close(), gate.open();
  stop = true;
  one.join(), two.join(), three.join();
}

}  // namespace
