// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of size classes, and of the pools that a set makes of them.
#include <bit>
#include <cstddef>
#include <set>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/detail/slab/free_check.hpp>
#include <ashlar/detail/slab/pool_set_base.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::detail::fine_size_classes;
using ashlar::detail::size_classes;

// By classes, not by sizes: the smallest request of a class, one byte above the class before, wastes most.
template <class Classes>
[[nodiscard]] constexpr bool wastes_an_eighth_at_most() noexcept {
  for (std::size_t size_class = 2; size_class <= Classes::count; ++size_class) {
    const std::size_t least = Classes::bytes_of(size_class - 1) + 1;
    const std::size_t cell = Classes::bytes_of(size_class);
    if (Classes::of(least) != size_class || Classes::of(cell) != size_class) return false;
    if (cell - least >= (cell <= Classes::exact ? Classes::granule : (least + 7) / 8)) return false;
  }
  return Classes::bytes_of(1) == Classes::granule && Classes::bytes_of(Classes::count) == Classes::largest;
}

// No multiple of an alignment falls in a class whose size is not a multiple of it.
template <class Classes>
[[nodiscard]] constexpr bool keeps_alignment() noexcept {
  for (std::size_t size_class = 1; size_class <= Classes::count; ++size_class)
    for (std::size_t alignment = 1; alignment <= Classes::largest; alignment *= 2) {
      const std::size_t cell = Classes::bytes_of(size_class);
      const std::size_t below = size_class == 1 ? 0 : Classes::bytes_of(size_class - 1);
      if (cell % alignment != 0 && ashlar::detail::align_down(cell, alignment) > below) return false;
    }
  return true;
}

static_assert(wastes_an_eighth_at_most<size_classes>() && keeps_alignment<size_classes>());
static_assert(wastes_an_eighth_at_most<fine_size_classes>() && keeps_alignment<fine_size_classes>());

template <class Classes>
class size_classes_of : public ::testing::Test {};

using tables = ::testing::Types<size_classes, fine_size_classes, ashlar::detail::basic_size_classes<4, 4096>>;
TYPED_TEST_SUITE(size_classes_of, tables);

TYPED_TEST(size_classes_of, every_size_gets_the_smallest_that_has_room_and_wastes_an_eighth_at_most) {
  EXPECT_EQ(TypeParam::of(0), 1u);
  EXPECT_EQ(TypeParam::of_small(0), 1u);
  std::size_t number = 1;
  for (std::size_t bytes = 1; bytes <= TypeParam::largest; ++bytes) {
    number += bytes > TypeParam::bytes_of(number);
    ASSERT_EQ(TypeParam::of(bytes), number) << bytes;
    const std::size_t waste = TypeParam::bytes_of(number) - bytes;
    if (bytes <= TypeParam::most_small) ASSERT_EQ(TypeParam::of_small(bytes), number) << bytes;
    ASSERT_TRUE(bytes <= TypeParam::exact ? waste < TypeParam::granule : waste * 8 < bytes) << bytes;
  }
}

TYPED_TEST(size_classes_of, every_alignment_gets_the_smallest_class_that_is_a_multiple) {
  for (std::size_t alignment = 1; alignment <= TypeParam::largest; alignment *= 2)
    for (std::size_t bytes = 0; bytes <= TypeParam::largest; bytes += 1 + bytes / 64) {
      std::size_t expected = TypeParam::of(bytes);
      while (TypeParam::bytes_of(expected) % alignment != 0) ++expected;
      ASSERT_EQ(TypeParam::of(bytes, alignment), expected) << bytes << " at " << alignment;
      ASSERT_GE(TypeParam::alignment_of(expected), alignment);
      ASSERT_EQ(TypeParam::rounded(bytes, alignment), TypeParam::bytes_of(expected));
    }
  EXPECT_EQ(TypeParam::alignment_of(TypeParam::count), TypeParam::largest);
  EXPECT_EQ(TypeParam::alignment_of(TypeParam::count, 64), 64u);
}

TEST(size_classes, a_size_known_at_compile_time_has_its_class_then) {
  static_assert(ashlar::detail::size_classes::of(1) == 1 && ashlar::detail::size_classes::of(24) == 2);
  static_assert(ashlar::detail::size_classes::rounded(129) == 144 &&
                ashlar::detail::fine_size_classes::rounded(24) == 24);
  static_assert(ashlar::detail::fine_size_classes::rounded(24, 16) == 32 &&
                ashlar::detail::fine_size_classes::rounded(0, 64) == 64);
  static_assert(ashlar::detail::size_classes::none == 0 && ashlar::detail::size_classes::of(32 * 1024) == 76);
}

using ashlar::block_pool_options;
using ashlar::pool_set_options;
using ashlar::detail::options_of_class;
using ashlar::detail::pool_classes;
using heap = ashlar::new_delete_resource;
using pages = ashlar::page_resource;

TEST(pool_set_classes, every_class_gets_slabs_with_room_and_aligned_cells) {
  for (std::size_t number = 1; number <= pool_classes::count; ++number)
    for (const block_pool_options& got : {options_of_class<heap>(number, {}), options_of_class<pages>(number, {})}) {
      const ashlar::detail::slab_geometry geometry = ashlar::detail::make_slab_geometry(got);  // checks all of them
      ASSERT_EQ(geometry.cell_bytes(), pool_classes::bytes_of(number));
      ASSERT_GE(geometry.least_capacity(), 6u) << number;
      ASSERT_EQ(geometry.cell_bytes() % geometry.cell_alignment(), 0u);
    }
  EXPECT_EQ(options_of_class<pages>(3, {}).slab_bytes,
            ashlar::os::pages::releases_parts ? ashlar::detail::default_slab_bytes(24) : ashlar::detail::largest_page);
  EXPECT_EQ(options_of_class<heap>(3, {}).slab_bytes, ashlar::detail::largest_page);
}

TEST(pool_set_classes, no_slab_has_more_cells_than_may_be_asked_for_at_once) {
  for (const std::size_t most : {1u, 2u, 5u, 16u, 100u, 1000u})
    for (std::size_t number = 1; number <= pool_classes::count; ++number) {
      const block_pool_options got = options_of_class<heap>(number, {.max_growth_count = most});
      if (got.slab_bytes == 0) continue;
      ASSERT_LE(ashlar::detail::make_slab_geometry(got).capacity(nullptr), most) << number;
    }
  EXPECT_EQ(options_of_class<heap>(1, {.max_growth_count = 4}).slab_bytes, 0u) << "the least slab has more";
  EXPECT_NE(options_of_class<heap>(1, {.max_growth_count = 64}).slab_bytes, 0u);
}

TEST(pool_set_classes, the_largest_cell_is_rounded_up_to_a_class) {
  EXPECT_EQ(ashlar::detail::largest_class_of({}), pool_classes::count);
  EXPECT_EQ(ashlar::detail::largest_class_of({.max_cell_bytes = std::size_t{1} << 20}), pool_classes::count);
  EXPECT_EQ(pool_classes::bytes_of(ashlar::detail::largest_class_of({.max_cell_bytes = 1000})), 1024u);
  EXPECT_EQ(ashlar::detail::largest_class_of({.max_cell_bytes = 1}), 1u);
}

TEST(pool_set_classes, a_class_grows_by_no_more_than_may_be_asked_for_at_once) {
  ashlar_test::counting_resource<> source;
  const block_pool_options options = options_of_class<heap>(3, {.max_growth_count = 5000});
  ashlar::detail::class_upstream<ashlar_test::counting_resource<>> grown(source, options, 5000);
  EXPECT_EQ(grown.try_allocate(4 * options.slab_bytes, options.slab_bytes), nullptr);
  void* const slab = grown.try_allocate(options.slab_bytes, options.slab_bytes);
  EXPECT_NE(slab, nullptr);
  grown.deallocate(slab, options.slab_bytes, options.slab_bytes);
}

TEST(run_length, has_room_and_wastes_little) {
  using ashlar::detail::longest_run;
  using ashlar::detail::run_length;
  std::set<std::size_t> classes;
  for (std::size_t n = 1; n <= longest_run; ++n) {
    ASSERT_GE(run_length(n), n);
    ASSERT_LE(run_length(n) - n, run_length(n) / 3);
    ASSERT_EQ(run_length(run_length(n)), run_length(n));
    classes.insert(run_length(n));
  }
  EXPECT_EQ(classes, (std::set<std::size_t>{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}));
  EXPECT_EQ(run_length(0), 1u);
}

}  // namespace
