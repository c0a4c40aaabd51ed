// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the windows of time in which free memory must have stayed free.
#include <ashlar/detail/heap/decay_window.hpp>

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::decay_window;

TEST(decay_window, ends_at_each_look_without_a_duration) {
  decay_window window(0);
  EXPECT_TRUE(window.is_instant());
  EXPECT_TRUE(window.is_over() && window.is_over());
}

TEST(decay_window, begins_with_the_first_look_and_lasts_as_long_as_it_should) {
  decay_window window(100);
  EXPECT_FALSE(window.is_instant());
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(window.is_over());
    std::this_thread::sleep_for(std::chrono::milliseconds(120));  // the clock may be 10 ms behind
    EXPECT_TRUE(window.is_over()) << i;
  }
}

TEST(decay_window, does_not_count_the_time_before_the_first_look) {
  decay_window window(60);
  std::this_thread::sleep_for(std::chrono::milliseconds(80));
  EXPECT_FALSE(window.is_over());
}

TEST(decay_window, begins_anew_after_a_restart) {
  decay_window window(60);
  EXPECT_FALSE(window.is_over());
  std::this_thread::sleep_for(std::chrono::milliseconds(80));
  window.restart();
  EXPECT_FALSE(window.is_over());
}

}  // namespace
