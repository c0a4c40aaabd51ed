// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of segments and of spans in them, and of the first segment, which becomes longer in place.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <set>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/huge_store.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/segment_table.hpp>
#include <ashlar/detail/heap/span_guards.hpp>
#include <ashlar/detail/heap/span_store.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/page_store.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::detail::first_slice;
using ashlar::detail::segment;
using ashlar::detail::size_classes;
using ashlar::detail::slab_view;
using ashlar::detail::span_header;

class segment_test : public ::testing::Test {
protected:
  // Raw memory with arbitrary contents.
  segment_test() {
    std::memset(memory_, 0xA5, first_slice * ashlar::detail::slice_bytes);
    home_ = segment::format(memory_, 3, ashlar::detail::segment_bytes);
  }
  ~segment_test() override {
    upstream_.deallocate(memory_, ashlar::detail::segment_bytes, ashlar::detail::segment_bytes);
  }

  ashlar::new_delete_resource upstream_;
  void* memory_ = upstream_.allocate(ashlar::detail::segment_bytes, ashlar::detail::segment_bytes);
  segment* home_ = nullptr;
};

TEST_F(segment_test, slabs_of_one_class_have_their_cells_at_different_cache_lines) {
  std::set<std::uintptr_t> lines;
  for (std::size_t turn = 0; turn < 16; ++turn) {
    span_header& slab = home_->record(first_slice + turn);
    slab_view(slab).format(size_classes::of(64), turn);
    lines.insert(ashlar::address_of(slab.cells) % ashlar::detail::slice_bytes);
    EXPECT_TRUE(slab.is_cell(slab.cell(0)) && slab.is_cell(slab.cell(slab.capacity - 1)));
    for (std::byte* const none : {slab.cells - 1, slab.cells + 1, slab.cell(slab.capacity)})
      EXPECT_FALSE(slab.is_cell(none));
  }
  EXPECT_EQ(lines.size(), 8u);
}

TEST_F(segment_test, heaps_without_a_number_have_each_lane_in_turn) {
  std::set<std::uint32_t> given;
  for (std::uint32_t i = 0; i < segment::lanes; ++i) given.insert(segment::next_lane());
  EXPECT_EQ(given.size(), segment::lanes);
}

using ashlar::detail::fresh_block;
using ashlar::detail::most_slices;
using ashlar::detail::segment_bytes;
using ashlar::detail::slice_bytes;
using ashlar_test::counting_resource;
using upstream_ref = ashlar::resource_ref<counting_resource<>>;

template <class Upstream>
struct own_space {
  explicit own_space(Upstream upstream, std::size_t max_bytes) : space(max_bytes, upstream) {}
  ashlar::detail::extent_map<Upstream> space;
};

// A store with its extent map and upstream.
template <class Upstream>
class store_over : own_space<Upstream>, public ashlar::detail::span_store<Upstream> {
public:
  explicit store_over(Upstream upstream = {}, std::size_t max_bytes = ashlar::max_size)
      : own_space<Upstream>(upstream, max_bytes), ashlar::detail::span_store<Upstream>(own_space<Upstream>::space) {}
  using ashlar::detail::span_store<Upstream>::space;
};

using store_type = store_over<upstream_ref>;
using page_store = store_over<ashlar::basic_page_resource<ashlar::fresh::plain>>;  // no segment of an ended heap

// As in a heap: a run becomes a block as soon as it is taken.
template <class Store>
fresh_block take(Store& store, std::size_t length, std::size_t step = 1) {
  fresh_block got = store.take(length, step);
  if (got.data == nullptr && store.grow(length, step)) got = store.take(length, step);
  if (got.data != nullptr) segment::of(got.data)->set_block(segment::slice_of(got.data), length);
  return got;
}

TEST(span_store, a_freed_block_serves_requests_down_to_two_thirds_of_its_length) {
  counting_resource<> upstream;
  store_type store(upstream);
  const fresh_block a = take(store, 12);
  store.give_block(a.data);
  EXPECT_EQ(store.take_free_span(7), nullptr);
  const bool is_exact = ashlar::checking_level >= ashlar::checking::checked;  // sizes are checked
  EXPECT_EQ(store.take_free_span(8), is_exact ? nullptr : a.data);
  EXPECT_TRUE(store.invariant());
}

TEST(span_store, a_run_starts_where_one_has_started) {
  page_store store;
  static_cast<void>(take(store, 33));  // in a whole segment: a short one might not become longer
  const fresh_block first = take(store, 3), second = take(store, 5), third = take(store, 2);
  store.give(first.data, 3);
  store.give(second.data, 5);
  EXPECT_EQ(take(store, 1).data, first.data);
  EXPECT_EQ(take(store, 4).data, second.data) << "the lowest place is two slices below";
  EXPECT_EQ(take(store, 2).data, first.data + slice_bytes) << "where none has started, the lowest";
  EXPECT_GT(take(store, 4).data, third.data);
  store.give(second.data, 4);
  EXPECT_GT(store.trim(0), 0u);
  EXPECT_EQ(take(store, 2).data, second.data) << "the lowest of all that are fresh alike";
}

using ashlar::detail::segment_slices;
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

}  // namespace
