// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of what a heap may know of its upstream's pages.
#include <cerrno>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/heap/page_discard.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using ashlar::page_discard;

static_assert(page_discard<ashlar::page_resource>::gives_zeroes && page_discard<ashlar::page_resource>::is_possible);
static_assert(page_discard<ashlar::resource_ref<ashlar::page_resource>>::is_possible);
static_assert(!page_discard<ashlar::new_delete_resource>::gives_zeroes);
static_assert(!page_discard<ashlar::new_delete_resource>::is_possible);

TEST(page_discard, makes_pages_zero_again) {
  ashlar::page_resource pages;
  constexpr std::size_t bytes = 256 * 1024;
  auto* const p = static_cast<std::byte*>(pages.allocate(bytes, 4096));
  EXPECT_EQ(p[0], std::byte{0});
  p[0] = p[bytes - 1] = std::byte{1};
  errno = 77;
  EXPECT_TRUE(page_discard<ashlar::page_resource>::discard(p, bytes));
  EXPECT_EQ(p[0], std::byte{0});
  EXPECT_EQ(p[bytes - 1], std::byte{0});
  EXPECT_FALSE(page_discard<ashlar::page_resource>::discard(p + 1, bytes)) << "is no page";
  EXPECT_EQ(errno, 77);
  pages.deallocate(p, bytes, 4096);
}

TEST(page_discard, nothing_is_dropped_of_what_is_unknown) {
  int value = 7;
  EXPECT_FALSE(page_discard<ashlar::new_delete_resource>::discard(&value, sizeof value));
  EXPECT_EQ(value, 7);
}

}  // namespace
