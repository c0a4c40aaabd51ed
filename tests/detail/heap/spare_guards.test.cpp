// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of spare huge blocks: inaccessible by the system's own answer, zero when they serve again.
#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/extent_map.hpp>
#include <ashlar/detail/heap/huge_store.hpp>
#include <ashlar/detail/heap/spare_guards.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/accessible.hpp"
#include "tests/support/build.hpp"

#if defined(__linux__)

namespace {

using ashlar::detail::slice_run;
using ashlar::detail::window_bytes;
using guarded_pages = ashlar::basic_page_resource<ashlar::fresh::by_wish>;
using guards = ashlar::detail::extent_map<guarded_pages>::guards;

static_assert(!ashlar::detail::extent_map<ashlar::page_resource>::guards::are_kept, "the wish of one upstream");

class spare_guards : public ::testing::Test {
protected:
  void SetUp() override {
    if (!guards::are_kept) GTEST_SKIP() << "known at level hardened";
    ASSERT_TRUE(probe.is_open());
  }

  [[nodiscard]] bool is_accessible(const std::byte* p) const { return probe.is_accessible(p); }

  [[nodiscard]] std::byte* take_filled(std::size_t size) {
    const slice_run got = store.take(size, window_bytes);
    EXPECT_NE(got.data, nullptr);
    if (got.data != nullptr) std::memset(got.data, 7, size);
    return got.data;
  }

  static constexpr std::size_t bytes = 3 * window_bytes;
  ashlar_test::access_probe probe;
  ashlar::detail::extent_map<guarded_pages> space{ashlar::detail::max_size, guarded_pages{}};
  ashlar::detail::huge_store<guarded_pages> store{space};
};

TEST_F(spare_guards, a_freed_block_is_inaccessible_and_zero_when_it_serves_again) {
  std::byte* const p = take_filled(bytes);
  EXPECT_TRUE(is_accessible(p) && is_accessible(p + bytes - 1));
  store.give(p);
  ASSERT_TRUE(space.is_spare(p));
  EXPECT_FALSE(is_accessible(p) || is_accessible(p + bytes / 2) || is_accessible(p + bytes - 1));
  const slice_run again = store.take(bytes, window_bytes);
  ASSERT_EQ(again.data, p);
  EXPECT_TRUE(again.is_zero && is_accessible(p) && is_accessible(p + bytes - 1));
  for (std::size_t at = 0; at < bytes; at += 512) ASSERT_EQ(p[at], std::byte{0});
  EXPECT_EQ(store.reused_bytes(), 0u) << "no page has stayed";
}

TEST_F(spare_guards, the_tail_of_a_block_that_serves_a_smaller_request_stays_inaccessible) {
  std::byte* const p = take_filled(bytes);
  store.give(p);
  const slice_run less = store.take(window_bytes, window_bytes);
  ASSERT_EQ(less.data, p);
  EXPECT_TRUE(is_accessible(p) && is_accessible(p + window_bytes - 1));
  EXPECT_FALSE(is_accessible(p + window_bytes));
}

TEST_F(spare_guards, spare_blocks_go_back_closed) {
  std::byte* const p = take_filled(bytes);
  store.give(p);
  EXPECT_EQ(store.trim(0), bytes);
  EXPECT_EQ(space.find(p), nullptr);
  EXPECT_TRUE(space.invariant() && store.invariant());
}

}  // namespace
#endif
