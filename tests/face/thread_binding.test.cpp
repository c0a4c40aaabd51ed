// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the binding of a pool to its first thread: the first call by another thread is reported, in every run.
#include <ashlar/face/pool_allocator.hpp>

#include <thread>

#include <gtest/gtest.h>

#include "tests/support/death.hpp"

namespace {

using ashlar::detail::thread_binding;

[[maybe_unused]] constexpr const char* report =
    "ashlar: precondition: used a pool of one_thread in a second thread, resource 0x*, size 40";

void use(thread_binding& binding) { binding.expect_own_thread(&binding, 40); }

// Its stack, and so the addresses of its thread-local variables, may go to the next thread.
TEST(thread_binding, takes_no_thread_for_one_that_has_ended) {
  ASHLAR_EXPECT_DEATH(
      {
        thread_binding binding;
        std::thread([&] { use(binding); }).join();
        std::thread([&] { use(binding); }).join();
      },
      report);
}

}  // namespace
