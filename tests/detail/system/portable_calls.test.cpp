// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests pages that are blocks of malloc.
#include <ashlar/detail/system/portable_calls.hpp>

#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

#if !ASHLAR_WINDOWS
using calls = ashlar::detail::portable_calls;
using pages = ashlar::os::basic_pages<calls>;
using portable_resource = ashlar::basic_page_resource<ashlar::fresh::populated, pages>;

constexpr std::size_t page = 4096;

TEST(portable_calls, impossible_requests_are_refused) {
  EXPECT_EQ(calls::map(0, true), nullptr);
  EXPECT_EQ(calls::map(ashlar::detail::max_size - page + 1, true), nullptr);
  EXPECT_FALSE(calls::protect(nullptr, page, true));
  EXPECT_FALSE(calls::discard(nullptr, page));
  EXPECT_FALSE(calls::populate(nullptr, page));
  EXPECT_FALSE(calls::advise_huge(nullptr, page));
  EXPECT_FALSE(calls::lock(nullptr, page));
}

TEST(portable_calls, pages_are_aligned_and_zero_also_when_they_are_used_again) {
  for (int round = 0; round != 3; ++round)
    for (std::size_t alignment = 1; alignment <= 64 * page; alignment *= 2) {
      auto* const p = static_cast<char*>(pages::map(3 * page, alignment));
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(ashlar::detail::is_aligned(p, alignment) && ashlar::detail::is_aligned(p, page));
      for (std::size_t i = 0; i < 3 * page; ++i) ASSERT_EQ(p[i], 0);
      std::memset(p, 'x', 3 * page);
      EXPECT_TRUE(calls::is_mapped(p, 3 * page));
      EXPECT_TRUE(pages::release(p, 3 * page));
    }
}

TEST(portable_calls, committed_pages_are_zero) {
  auto* const p = static_cast<char*>(pages::reserve(page, page));
  ASSERT_TRUE(pages::commit(p, page));
  *p = 'x';
  EXPECT_TRUE(pages::decommit(p, page));
  ASSERT_TRUE(pages::commit(p, page));
  EXPECT_EQ(*p, 0);
  EXPECT_TRUE(pages::release(p, page));
}

TEST(portable_calls, carry_a_resource_with_blocks_in_one_piece) {
  static_assert(!ashlar::detail::divisible_resource<portable_resource>);
  static_assert(!ashlar::expanding_resource<portable_resource>);
  ashlar::block_pool<portable_resource> pool({.cell_bytes = 48});
  void* const p = pool.allocate(48, 8);
  std::memset(p, 'x', 48);
  pool.deallocate(p, 48, 8);
  EXPECT_TRUE(pool.invariant());
}
#endif

}  // namespace
