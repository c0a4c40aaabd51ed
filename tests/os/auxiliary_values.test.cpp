// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the kernel's values for a program.
#include <ashlar/os/random_bits.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

namespace {

#if defined(__linux__)
TEST(auxiliary_values, are_those_of_the_kernel_each_time) {
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(ashlar::detail::auxiliary_value<AT_PAGESZ>::get(), static_cast<unsigned long>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(ashlar::detail::auxiliary_value<12345>::get(), 0u);  // no entry has this number
}
#endif

}  // namespace
