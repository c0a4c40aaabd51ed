// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of guarded segments: what is accessible, by the system's own answer, through the life of spans.
#include <cstddef>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/huge_store.hpp>
#include <ashlar/detail/heap/span_guards.hpp>
#include <ashlar/detail/heap/span_store.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/accessible.hpp"

#if defined(__linux__)

namespace {

using ashlar::detail::first_slice;
using ashlar::detail::fresh_block;
using ashlar::detail::segment;
using ashlar::detail::slice_bytes;
using guarded_pages = ashlar::basic_page_resource<ashlar::fresh::by_wish>;
using store_type = ashlar::detail::span_store<guarded_pages>;

constexpr std::size_t page = 4096;

static_assert(ashlar::detail::guard_bytes<ashlar::page_resource> == 0, "the wish of one upstream");
static_assert(ashlar::detail::with_guard<guarded_pages>(ashlar::detail::max_size) == ashlar::detail::max_size);

class span_guards : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar::detail::span_guards<guarded_pages>::are_kept) GTEST_SKIP() << "known at level hardened";
    ASSERT_TRUE(probe.is_open());
  }

  [[nodiscard]] bool is_accessible(const std::byte* p) const { return probe.is_accessible(p); }

  // Whether a span is accessible but for its last page, and not the pages around it.
  [[nodiscard]] bool is_open(const fresh_block& run, std::size_t length) const {
    const std::byte* const end = run.data + length * slice_bytes;
    for (const std::byte* p = run.data; p < end - page; p += page)
      if (!is_accessible(p)) return false;
    return !is_accessible(run.data - 1) && !is_accessible(end - page) && !is_accessible(end - 1);
  }

  [[nodiscard]] fresh_block take(std::size_t length) {
    if (const fresh_block run = store_type::made_block(store.take(length), length); run.data != nullptr) return run;
    EXPECT_TRUE(store.grow(length));
    return store_type::made_block(store.take(length), length);
  }

  ashlar_test::access_probe probe;
  ashlar::detail::extent_map<guarded_pages> space{ashlar::detail::max_size, guarded_pages{}};
  store_type store{space};
};

TEST_F(span_guards, a_span_is_open_between_closed_pages_wherever_it_is) {
  std::vector<fresh_block> all;
  for (int i = 0; i < 60; ++i) all.push_back(take(1));
  for (const fresh_block& run : all) EXPECT_TRUE(run.is_zero && is_open(run, 1));
  for (std::size_t i = 0; i < all.size(); i += 2) {
    store.give(all[i].data, 1);
    EXPECT_FALSE(is_accessible(all[i].data));
  }
  EXPECT_TRUE(is_open(all[1], 1));
  EXPECT_TRUE(store.invariant());
}

TEST_F(span_guards, a_freed_block_is_closed_and_its_contents_are_gone) {
  const fresh_block run = take(4);
  std::memset(run.data, 0xEE, 4 * slice_bytes - page);
  EXPECT_EQ(store.give_block(run.data), 4u);
  EXPECT_FALSE(is_accessible(run.data));
  EXPECT_NE(take(4).data, run.data) << "it waits in quarantine";
  EXPECT_TRUE(ashlar::detail::segment::is_given(run.data));
  store.end_quarantine();
  std::vector<fresh_block> others;
  for (int i = 0; i < 20; ++i) others.push_back(take(4));
  for (const fresh_block& other : others)
    for (std::size_t at = 0; at < 4 * slice_bytes - page; at += 512) ASSERT_EQ(other.data[at], std::byte{0});
  EXPECT_TRUE(store.invariant());
}

TEST_F(span_guards, a_block_that_grows_or_shrinks_has_its_guard_at_the_end) {
  const fresh_block run = take(8);
  segment& home = *segment::of(run.data);
  const std::size_t first = segment::slice_of(run.data);
  std::memset(run.data, 0xEE, 8 * slice_bytes - page);
  home.set_block(first, 3);
  store.give_tail(run.data, 8, 3);
  EXPECT_TRUE(is_open(run, 3));
  ASSERT_TRUE(store.extend(run.data, 3, 8));
  home.set_block(first, 8);
  EXPECT_TRUE(is_open(run, 8));
  EXPECT_EQ(run.data[3 * slice_bytes - page - 1], std::byte{0xEE});
  for (std::size_t at = 3 * slice_bytes - page; at < 8 * slice_bytes - page; at += 512)
    ASSERT_EQ(run.data[at], std::byte{0});
  EXPECT_TRUE(store.invariant());
}

TEST_F(span_guards, starts_are_chosen_by_chance) {
  std::size_t ascending = 0;
  const std::byte* last = take(1).data;
  for (int i = 0; i < 40; ++i) {
    const std::byte* const next = take(1).data;
    ascending += next > last ? 1 : 0;
    last = next;
  }
  EXPECT_LT(ascending, 40u);
}

}  // namespace

#endif
