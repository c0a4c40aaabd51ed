// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the services of the operating system; tests/freestanding tests them without one.
#include <ashlar/detail/support/platform.hpp>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>

#include "tests/support/death.hpp"

namespace {

static_assert(ashlar::is_hosted, "tests run on an operating system");

TEST(platform, text_reaches_the_error_stream_as_it_is) {
  ::testing::internal::CaptureStderr();
  ashlar::detail::write_error("no line end, ");
  ashlar::detail::write_error("");
  ashlar::detail::write_error({"a\0b", 3});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), std::string("no line end, a\0b", 16));
}

TEST(platform, the_end_is_an_abort) { ASHLAR_EXPECT_DEATH(ashlar::detail::end_process(), ""); }

TEST(platform, a_thread_that_yields_comes_back) {
  std::atomic<bool> done = false;
  std::thread other([&] { done = true; });
  while (!done) ashlar::detail::yield_thread();
  other.join();
}

TEST(platform, a_thread_that_yields_or_sleeps_comes_back_with_its_errno) {
  std::atomic<bool> done = false;
  std::thread other([&] { done = true; });
  errno = 42;
  for (unsigned turn = 0; turn < 20 || !done; ++turn) ashlar::detail::yield_or_sleep(turn);
  EXPECT_EQ(errno, 42);
  other.join();
}

}  // namespace
