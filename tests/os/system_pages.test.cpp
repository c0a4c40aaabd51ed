// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of calls for pages: the portable ones, those of a node, and huge ones.
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/os/huge_pages.hpp>
#include <ashlar/os/numa_calls.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/os/system_calls.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

#if !ASHLAR_WINDOWS
using calls = ashlar::detail::portable_calls;
using portable_pages = ashlar::os::basic_pages<calls>;
using portable_resource = ashlar::basic_page_resource<ashlar::fresh::populated, portable_pages>;

constexpr std::size_t page = 4096;

TEST(portable_calls, impossible_requests_are_refused) {
  EXPECT_EQ(calls::map(0, true), nullptr);
  EXPECT_EQ(calls::map(ashlar::max_size - page + 1, true), nullptr);
  EXPECT_FALSE(calls::protect(nullptr, page, true));
  EXPECT_FALSE(calls::discard(nullptr, page));
  EXPECT_FALSE(calls::populate(nullptr, page));
  EXPECT_FALSE(calls::advise_huge(nullptr, page));
  EXPECT_FALSE(calls::lock(nullptr, page));
}

TEST(portable_calls, pages_are_aligned_and_zero_also_when_they_are_used_again) {
  for (int round = 0; round != 3; ++round)
    for (std::size_t alignment = 1; alignment <= 64 * page; alignment *= 2) {
      auto* const p = static_cast<char*>(portable_pages::map(3 * page, alignment));
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(ashlar::is_aligned(p, alignment) && ashlar::is_aligned(p, page));
      for (std::size_t i = 0; i < 3 * page; ++i) ASSERT_EQ(p[i], 0);
      std::memset(p, 'x', 3 * page);
      EXPECT_TRUE(calls::is_mapped(p, 3 * page));
      EXPECT_TRUE(portable_pages::release(p, 3 * page));
    }
}

TEST(portable_calls, committed_pages_are_zero) {
  auto* const p = static_cast<char*>(portable_pages::reserve(page, page));
  ASSERT_TRUE(portable_pages::commit(p, page));
  *p = 'x';
  EXPECT_TRUE(portable_pages::decommit(p, page));
  ASSERT_TRUE(portable_pages::commit(p, page));
  EXPECT_EQ(*p, 0);
  EXPECT_TRUE(portable_pages::release(p, page));
}

TEST(portable_calls, carry_a_resource_with_blocks_in_one_piece) {
  static_assert(!ashlar::divisible_resource<portable_resource>);
  static_assert(!ashlar::expanding_resource<portable_resource>);
  ashlar::block_pool<portable_resource> pool({.cell_bytes = 48});
  void* const p = pool.allocate(48, 8);
  std::memset(p, 'x', 48);
  pool.deallocate(p, 48, 8);
  EXPECT_TRUE(pool.invariant());
}
#endif

using ashlar::detail::numa_calls;
using ashlar::detail::numa_nodes;
using ashlar::detail::numa_policy;
using ashlar::os::pages;

TEST(numa_nodes, has_what_was_added) {
  numa_nodes nodes;
  EXPECT_EQ(nodes.count(), 0u);
  for (const std::size_t node : {std::size_t{0}, std::size_t{63}, std::size_t{64}, numa_nodes::most - 1}) {
    EXPECT_FALSE(nodes.has(node));
    nodes.add(node);
    EXPECT_TRUE(nodes.has(node));
  }
  EXPECT_EQ(nodes.count(), 4u);
  EXPECT_FALSE(nodes.has(numa_nodes::most));
}

TEST(numa_calls, places_pages_on_an_allowed_node_and_on_no_other) {
  const numa_nodes allowed = numa_calls::allowed();
  if (allowed.count() == 0) GTEST_SKIP() << "this system does not tell its nodes";
  const std::size_t bytes = pages::round_up(1);
  void* const p = pages::map(bytes, 1);
  errno = 12345;
  EXPECT_TRUE(numa_calls::place(p, bytes, numa_policy::interleaved, allowed));
  numa_nodes one;
  std::size_t node = 0;
  while (!allowed.has(node)) ++node;
  one.add(node);
  EXPECT_TRUE(numa_calls::place(p, bytes, numa_policy::preferred, one));
  numa_nodes none;
  none.add(numa_nodes::most - 1);
  EXPECT_FALSE(numa_calls::place(p, bytes, numa_policy::preferred, none));
  EXPECT_EQ(errno, 12345);
  static_cast<unsigned char*>(p)[0] = 1;
  pages::release(p, bytes);
}

using ashlar::detail::reserved_huge_pages;

TEST(reserved_huge_pages, is_null_or_whole_huge_pages) {
  constexpr std::size_t bytes = 2 * reserved_huge_pages::page_bytes;
  auto* const p = static_cast<unsigned char*>(reserved_huge_pages::map(bytes));
  if (p == nullptr) GTEST_SKIP() << "this machine has set no huge pages aside: /proc/sys/vm/nr_hugepages";
  EXPECT_TRUE(ashlar::is_aligned(p, reserved_huge_pages::page_bytes));
  EXPECT_EQ(p[0], 0);
  EXPECT_EQ(p[bytes - 1], 0);
  std::memset(p, 1, bytes);
  EXPECT_TRUE(ashlar::os::pages::release(p, bytes));
}

TEST(reserved_huge_pages, of_more_than_any_machine_has_is_null) {
  EXPECT_EQ(reserved_huge_pages::map(ashlar::max_block_bytes / 2 / reserved_huge_pages::page_bytes *
                                     reserved_huge_pages::page_bytes),
            nullptr);
}

}  // namespace
