// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the huge pages that a machine has set aside, if it has: most have none.
#include <ashlar/detail/system/reserved_huge_pages.hpp>

#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include <ashlar/detail/support/bits.hpp>
#include <ashlar/os/pages.hpp>

namespace {

using ashlar::detail::reserved_huge_pages;

TEST(reserved_huge_pages, is_null_or_whole_huge_pages) {
  constexpr std::size_t bytes = 2 * reserved_huge_pages::page_bytes;
  auto* const p = static_cast<unsigned char*>(reserved_huge_pages::map(bytes));
  if (p == nullptr) GTEST_SKIP() << "this machine has set no huge pages aside: /proc/sys/vm/nr_hugepages";
  EXPECT_TRUE(ashlar::detail::is_aligned(p, reserved_huge_pages::page_bytes));
  EXPECT_EQ(p[0], 0);
  EXPECT_EQ(p[bytes - 1], 0);
  std::memset(p, 1, bytes);
  EXPECT_TRUE(ashlar::os::pages::release(p, bytes));
}

TEST(reserved_huge_pages, of_more_than_any_machine_has_is_null) {
  EXPECT_EQ(reserved_huge_pages::map(ashlar::detail::max_block_bytes / 2 / reserved_huge_pages::page_bytes *
                                     reserved_huge_pages::page_bytes),
            nullptr);
}

}  // namespace
