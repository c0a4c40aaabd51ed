// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of direct system calls: their results, their errors, and that errno stays as it is.
#include <ashlar/detail/support/kernel.hpp>

#include <cerrno>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

#if defined(ASHLAR_HAS_KERNEL)
using ashlar::detail::call_kernel;

TEST(kernel, returns_what_the_c_library_returns) {
  EXPECT_EQ(call_kernel(SYS_getpid), ::getpid());
  EXPECT_EQ(call_kernel(SYS_getppid), ::getppid());
}

TEST(kernel, returns_an_error_as_its_negated_number) {
  errno = 42;
  const long result = call_kernel(SYS_close, -1);
  EXPECT_EQ(errno, 42);
  EXPECT_EQ(result, -EBADF);
  EXPECT_TRUE(ashlar::detail::is_kernel_error(result));
  EXPECT_FALSE(ashlar::detail::is_kernel_error(0));
  EXPECT_FALSE(ashlar::detail::is_kernel_error(static_cast<long>(~std::uintptr_t{0} << 13)));  // an address
}

TEST(kernel, passes_six_words) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const char text[] = "six words";
  ASSERT_EQ(call_kernel(SYS_write, pipe[1], text, sizeof text), static_cast<long>(sizeof text));
  EXPECT_EQ(call_kernel(SYS_splice, pipe[0], nullptr, pipe[1], nullptr, sizeof text, ~0U), -EINVAL);
  char found[sizeof text] = {};
  EXPECT_EQ(call_kernel(SYS_read, pipe[0], found, sizeof found), static_cast<long>(sizeof text));
  EXPECT_STREQ(found, text);
  ::close(pipe[0]);
  ::close(pipe[1]);
}
#endif

#if defined(ASHLAR_HAS_THREAD_POINTER)
TEST(kernel, threads_have_different_numbers) {
  std::uintptr_t other = 0;
  std::thread([&] { other = ashlar::detail::thread_pointer(); }).join();
  EXPECT_NE(other, ashlar::detail::thread_pointer());
  EXPECT_NE(other, 0u);
}
#endif

}  // namespace
