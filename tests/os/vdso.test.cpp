// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the kernel's values for a program, and of the search in its image of functions.
#include <cstdint>

#include <time.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/os/random_bits.hpp>

namespace {

#if defined(__linux__)
TEST(auxiliary_values, are_those_of_the_kernel_each_time) {
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(ashlar::detail::auxiliary_value<AT_PAGESZ>::get(), static_cast<unsigned long>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(ashlar::detail::auxiliary_value<12345>::get(), 0u);  // no entry has this number
}
#endif

#if ASHLAR_HAS_VDSO && (defined(__x86_64__) || defined(__aarch64__))
TEST(vdso, has_a_clock_that_goes_as_the_one_of_the_c_library) {
  const std::uintptr_t image = ashlar::detail::auxiliary_value<AT_SYSINFO_EHDR>::get();
  if (image == 0) GTEST_SKIP() << "this process has none";
  const ashlar::detail::vdso_symbols symbols(image);
#if defined(__aarch64__)
  const std::uintptr_t found = symbols.find("__kernel_clock_gettime");
#else
  const std::uintptr_t found = symbols.find("__vdso_clock_gettime");
#endif
  ASSERT_NE(found, 0u);
  timespec of_kernel = {}, of_library = {};
  ASSERT_EQ(reinterpret_cast<int (*)(clockid_t, timespec*)>(found)(CLOCK_MONOTONIC, &of_kernel), 0);
  ASSERT_EQ(::clock_gettime(CLOCK_MONOTONIC, &of_library), 0);
  EXPECT_LE(of_library.tv_sec - of_kernel.tv_sec, 100);
  EXPECT_GE(of_library.tv_sec, of_kernel.tv_sec);
  EXPECT_EQ(symbols.find("__vdso_no_such_function"), 0u);
}
#endif

}  // namespace
