// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the classes of a set: slabs within the limit of cells, or none.
#include <ashlar/detail/slab/pool_set_classes.hpp>

#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_geometry.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/pool_set_options.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

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

}  // namespace
