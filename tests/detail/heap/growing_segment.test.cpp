// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the first segment of a heap, which becomes longer in place.
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/huge_store.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/segment_table.hpp>
#include <ashlar/detail/heap/span_guards.hpp>
#include <ashlar/detail/heap/span_store.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::detail::fresh_block;
using ashlar::detail::segment;
using ashlar::detail::segment_bytes;
using ashlar::detail::segment_slices;
using ashlar::detail::slice_bytes;
using ashlar::detail::slices_per_segment;
using growing =
    ashlar::detail::growing_segment<ashlar::page_resource, ashlar::detail::span_guards<ashlar::page_resource>>;

TEST(growing_segment, asks_for_little_at_first_and_for_whole_ones_later) {
  EXPECT_EQ(growing::wish(slice_bytes, false), segment_bytes);
  if (!growing::is_possible) return;
  const std::size_t first = growing::wish(slice_bytes, true);
  EXPECT_LT(first, segment_bytes / 2);
  EXPECT_EQ(growing::wish(first + slice_bytes, true), first + slice_bytes) << "as much as the request needs";
  EXPECT_EQ(growing::wish(segment_bytes / 2 + slice_bytes, true), segment_bytes) << "beyond a half all of it";
}

TEST(growing_segment, is_none_where_memory_does_not_grow_in_place) {
  using counted = ashlar::resource_ref<ashlar_test::counting_resource<>>;
  using other = ashlar::detail::growing_segment<counted, ashlar::detail::span_guards<counted>>;
  EXPECT_FALSE(other::is_possible);
  EXPECT_EQ(other::wish(slice_bytes, true), segment_bytes);
}

// Memory of a whole segment, of which a growing one has as much as `most` lets it have.
struct stub_extents {
  std::size_t most;
  std::size_t calls = 0;
  bool resize(const void*, std::size_t bytes) noexcept { return ++calls, bytes <= most; }
};

class growing_segment_test : public ::testing::Test {
protected:
  ~growing_segment_test() override {
    guards::end(*home);
    pages.deallocate(memory, segment_bytes, segment_bytes);
  }

  using guards = ashlar::detail::span_guards<ashlar::page_resource>;
  ashlar::page_resource pages;
  std::size_t first = growing::wish(slice_bytes, true);
  void* memory = pages.allocate(segment_bytes, segment_bytes);
  segment* home = segment::format(memory, 0, first);
  segment_slices slices{home, segment_slices::all_of(first), segment_slices::all_of(first)};
  growing grows;
};

TEST_F(growing_segment_test, becomes_longer_by_quarters_until_it_is_whole) {
  guards::begin(*home);
  grows.begin(*home);
  if (!growing::is_possible) {
    EXPECT_EQ(grows.get(), nullptr);
    return;
  }
  stub_extents space{segment_bytes};
  for (std::size_t held = home->slices_held(); held != slices_per_segment;) {
    ASSERT_EQ(grows.get(), home);
    ASSERT_EQ(grows.lengthen(space, slices, held + 1), held) << "what it was";
    ASSERT_GE(home->slices_held(), held + held / 4);
    ASSERT_TRUE(home->slices_held() <= held + held / 4 || home->slices_held() == slices_per_segment);
    held = home->slices_held();
    ASSERT_EQ(slices.free, segment_slices::all_of(home->head.bytes));
  }
  EXPECT_LE(space.calls, 12u);
  EXPECT_EQ(grows.get(), nullptr) << "it has become like any other";
}

TEST_F(growing_segment_test, takes_what_is_needed_where_there_is_no_more_and_then_stays) {
  guards::begin(*home);
  grows.begin(*home);
  if (!growing::is_possible) return;
  const std::size_t held = home->slices_held();
  stub_extents space{(held + 1) * slice_bytes};
  EXPECT_EQ(grows.lengthen(space, slices, held + 1), held);
  EXPECT_EQ(home->slices_held(), held + 1);
  EXPECT_EQ(grows.lengthen(space, slices, held + 2), 0u);
  EXPECT_EQ(home->slices_held(), held + 1);
  EXPECT_EQ(grows.get(), nullptr) << "it is not tried again";
}

TEST(growing_segment, of_pages_stays_one_segment_as_far_as_they_grow) {
  ashlar::detail::extent_map<ashlar::page_resource> space(std::size_t{64} << 20, {});
  ashlar::detail::span_store<ashlar::page_resource> store(space);
  ASSERT_TRUE(store.grow(1));
  std::size_t taken = 0;
  for (fresh_block got; (got = store.take(1)).data != nullptr; ++taken) {
    *got.data = std::byte{1};
    segment::of(got.data)->set_block(segment::slice_of(got.data), 1);
    ASSERT_TRUE(store.invariant());
  }
  EXPECT_GE(taken, 1u);
  EXPECT_EQ(store.segments(), 1u);
  EXPECT_EQ(store.used_bytes(), taken * slice_bytes);
}

}  // namespace
