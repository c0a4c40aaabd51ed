// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the thread whose stack contains an object: threads, forked children, fibers.
#include <ashlar/os/native.hpp>

#if defined(__linux__)
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>

#include <ucontext.h>

#include <gtest/gtest.h>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"

namespace {

using ashlar::detail::stack_thread;
using ashlar_test::child_does;

// AddressSanitizer moves what has a known size.
volatile std::size_t bytes = 64;
#define ON_STACK std::memset(__builtin_alloca(bytes), 0, bytes)

TEST(stack_thread, is_gone_in_the_child_of_another) {
  std::thread([] {
    const stack_thread mine(ON_STACK);
    EXPECT_TRUE(mine.is_any());
    EXPECT_TRUE(child_does([&] { return !mine.is_gone(); }));
    std::thread([&] { EXPECT_TRUE(child_does([&] { return mine.is_gone(); })); }).join();
  }).join();
}

TEST(stack_thread, is_none_for_the_main_thread_and_what_others_make) {
  EXPECT_FALSE(stack_thread(ON_STACK).is_any());
  std::thread([] {
    EXPECT_FALSE(stack_thread(std::make_unique<int>().get()).is_any());
    static const int lasting = 0;
    EXPECT_FALSE(stack_thread(&lasting).is_any());
    void* const here = ON_STACK;
    std::thread([here] { EXPECT_FALSE(stack_thread(here).is_any()); }).join();
  }).join();
}

ucontext_t thread_context, fiber_context;
bool is_fiber_of_thread = true;

TEST(stack_thread, is_none_on_a_stack_that_the_program_made) {
  if constexpr (ashlar_test::is_watched) GTEST_SKIP() << "sanitizers follow no change of the stack";
  static std::array<std::byte, std::size_t{64} * 1024> stack;  // far below the threads' stacks
  std::thread([] {
    ASSERT_EQ(::getcontext(&fiber_context), 0);
    fiber_context.uc_stack = {.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
    fiber_context.uc_link = &thread_context;
    ::makecontext(&fiber_context, [] { is_fiber_of_thread = stack_thread(ON_STACK).is_any(); }, 0);
    ASSERT_EQ(::swapcontext(&thread_context, &fiber_context), 0);
    EXPECT_TRUE(stack_thread(ON_STACK).is_any());
  }).join();
  EXPECT_FALSE(is_fiber_of_thread);
}

}  // namespace
#endif
