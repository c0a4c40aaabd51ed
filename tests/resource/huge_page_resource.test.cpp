// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the resource over huge pages, on the machine as it is: with pages set aside or without.
#include <ashlar/resource/huge_page_resource.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/os/huge_pages.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/support/conformance.hpp"
#include "tests/support/huge_pages.hpp"

namespace {

constexpr std::size_t huge = ashlar_test::huge_page_conformance::page_bytes;

struct huge_pages_of_the_machine : ashlar_test::huge_page_conformance {
  ashlar::huge_page_resource resource;
};

[[maybe_unused]] const bool tested =
    ashlar_test::conforms("huge_page_resource", ::testing::Types<huge_pages_of_the_machine>{});

TEST(huge_page_resource, hands_out_zeroes_at_huge_pages) {
  ashlar::huge_page_resource pages;
  constexpr std::size_t bytes = huge + 1;
  auto* const p = static_cast<unsigned char*>(pages.allocate(bytes, 64));
  EXPECT_TRUE(ashlar::detail::is_aligned(p, huge));
  EXPECT_TRUE(std::all_of(p, p + bytes, [](unsigned char byte) { return byte == 0; }));
  std::memset(p, 1, 2 * huge);
  pages.deallocate(p, bytes, 64);
}

// Smaller slabs would take a page each.
TEST(huge_page_resource, has_pages_for_the_slabs_of_pools) {
  if (!ashlar::os::huge_pages::releases_parts) GTEST_SKIP() << "no part of a block goes back";
  EXPECT_EQ(ashlar::block_pool<ashlar::huge_page_resource>({.cell_bytes = 24}).slab_bytes(), huge);
  EXPECT_EQ(ashlar::shared_block_pool<ashlar::huge_page_resource>({.cell_bytes = 24}).slab_bytes(), huge);
  const ashlar::fixed_block_pool<24, 8, ashlar::huge_page_resource> nodes;
  EXPECT_EQ(nodes.slab_bytes(), huge);
}

}  // namespace
