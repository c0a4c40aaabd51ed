// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of size classes, of the layout of slabs, their guards, and the map by which they are found.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slab/free_check.hpp>
#include <ashlar/detail/slab/pool_set_base.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_set.hpp>
#include <ashlar/detail/slab/slab_store.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::detail::fine_size_classes;
using ashlar::detail::size_classes;

// No multiple of an alignment falls in a class whose size is not a multiple of it.
template <class Classes>
[[nodiscard]] constexpr bool keeps_alignment() noexcept {
  for (std::size_t size_class = 1; size_class <= Classes::count; ++size_class)
    for (std::size_t alignment = 1; alignment <= Classes::largest; alignment *= 2) {
      const std::size_t cell = Classes::bytes_of(size_class);
      const std::size_t below = size_class == 1 ? 0 : Classes::bytes_of(size_class - 1);
      if (cell % alignment != 0 && ashlar::align_down(cell, alignment) > below) return false;
    }
  return true;
}

static_assert(keeps_alignment<size_classes>() && keeps_alignment<fine_size_classes>());

template <class Classes>
class size_classes_of : public ::testing::Test {};

using tables = ::testing::Types<size_classes, fine_size_classes, ashlar::detail::basic_size_classes<4, 4096>>;
TYPED_TEST_SUITE(size_classes_of, tables);

TYPED_TEST(size_classes_of, every_size_gets_the_smallest_that_has_room_and_wastes_an_eighth_at_most) {
  EXPECT_EQ(TypeParam::of(0), 1u);
  EXPECT_EQ(TypeParam::of_small(0), 1u);
  EXPECT_EQ(TypeParam::bytes_of(1), TypeParam::granule);
  std::size_t number = 1;
  for (std::size_t bytes = 1; bytes <= TypeParam::largest; ++bytes) {
    number += bytes > TypeParam::bytes_of(number);
    ASSERT_EQ(TypeParam::of(bytes), number) << bytes;
    const std::size_t waste = TypeParam::bytes_of(number) - bytes;
    if (bytes <= TypeParam::most_small) ASSERT_EQ(TypeParam::of_small(bytes), number) << bytes;
    ASSERT_TRUE(bytes <= TypeParam::exact ? waste < TypeParam::granule : waste * 8 < bytes) << bytes;
  }
  EXPECT_EQ(number, TypeParam::count);
  EXPECT_EQ(TypeParam::bytes_of(number), TypeParam::largest);
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

using ashlar::detail::slab_geometry;
using ashlar::detail::slab_shape;

/// An address for arithmetic only, never touched.
std::byte* address(std::uintptr_t at) { return reinterpret_cast<std::byte*>(at); }

std::uintptr_t number(const void* p) { return ashlar::address_of(p); }

/// A slab's parts as offsets from its start, computed by the geometry under test.
struct parts {
  std::uintptr_t header, bitmap, bitmap_end, cells, cells_end;
  std::uint32_t capacity;
};

parts parts_of(const slab_geometry& g, const slab_shape& shape, std::byte* slab) {
  parts at{};
  std::byte* const header = g.header_of(slab);
  at.header = number(header) - number(slab);
  at.bitmap = at.header + shape.header_bytes;
  at.bitmap_end = at.bitmap + g.words() * 8 * ashlar::detail::cell_bitmaps;
  at.cells = number(g.cells_of(header)) - number(slab);
  at.capacity = g.capacity(slab);
  at.cells_end = at.cells + at.capacity * g.cell_stride();
  return at;
}

void expect_sound(const slab_geometry& g, const slab_shape& shape, std::byte* slab) {
  const parts at = parts_of(g, shape, slab);
  ASSERT_EQ(at.header % 64, 0u);
  ASSERT_LE(at.header, shape.slab_bytes / 128) << "the gap is too wide";
  ASSERT_LE(at.bitmap_end + ashlar::detail::front_guard, at.cells);
  ASSERT_GE(g.guard_bytes(), ashlar::detail::least_guard);
  ASSERT_EQ((number(slab) + at.cells) % shape.cell_alignment, 0u);
  ASSERT_LE(at.capacity, g.words() * 64);
  ASSERT_GE(at.capacity, g.least_capacity());
  if (at.capacity == 0) return;
  ASSERT_LE(at.cells_end, shape.slab_bytes);
  ASSERT_GT(at.cells_end + g.cell_stride(), shape.slab_bytes) << "another cell fits";
}

void expect_cells_are_found(const slab_geometry& g, const slab_shape& shape, std::byte* slab) {
  std::byte* const first = g.cells_of(g.header_of(slab));
  const std::uint32_t capacity = g.capacity(slab);
  const std::uint32_t step = std::max(capacity / 50, 1u);
  for (std::uint32_t i = 0; i < capacity; i += step) {
    ASSERT_EQ(g.index_of(i * g.cell_stride()), i);
    ASSERT_EQ(g.slab_of(first + i * g.cell_stride()), slab);
  }
  if (capacity != 0) ASSERT_EQ(g.index_of((capacity - 1) * g.cell_stride()), capacity - 1);
  ASSERT_EQ(g.slab_of(slab + shape.slab_bytes - 1), slab);
  ASSERT_EQ(g.slab_of(g.header_of(slab)), slab);
}

void try_all_colours(const slab_shape& shape) {
  SCOPED_TRACE(::testing::Message() << shape.cell_bytes << " at " << shape.cell_alignment << " in "
                                    << shape.slab_bytes);
  const slab_geometry g(shape);
  ASSERT_EQ(g.cell_bytes(), shape.cell_bytes);
  ASSERT_EQ(g.cell_alignment(), shape.cell_alignment);
  ASSERT_EQ(g.slab_bytes(), shape.slab_bytes);
  for (std::size_t k = 1; k <= slab_geometry::max_colours; ++k) {
    std::byte* const slab = address(0x40000000u / shape.slab_bytes * shape.slab_bytes + k * shape.slab_bytes);
    ASSERT_NO_FATAL_FAILURE(expect_sound(g, shape, slab));
    ASSERT_NO_FATAL_FAILURE(expect_cells_are_found(g, shape, slab));
  }
}

TEST(slab_geometry, parts_never_overlap_for_any_cell_size) {
  for (const std::size_t slab_bytes : {std::size_t{16} << 10, std::size_t{64} << 10, std::size_t{256} << 10})
    for (std::size_t cell = 1; cell <= 4096; cell += ashlar_test::cases_of_build(5U, 1U)) {
      const std::size_t natural = std::min(cell & (0 - cell), alignof(std::max_align_t));
      ASSERT_NO_FATAL_FAILURE(try_all_colours(
          {.cell_bytes = cell, .cell_alignment = natural, .slab_bytes = slab_bytes, .header_bytes = 128}));
    }
}

TEST(slab_geometry, cells_have_the_alignment_asked_for) {
  for (std::size_t slab_bytes = 8192; slab_bytes <= std::size_t{4} << 20; slab_bytes *= 2)
    for (std::size_t alignment = 1; alignment <= slab_bytes / 4; alignment *= 2)
      for (std::size_t cells = 1; cells <= 3; ++cells)
        for (const std::size_t header : {64u, 128u, 192u})
          ASSERT_NO_FATAL_FAILURE(try_all_colours({.cell_bytes = cells * alignment,
                                                   .cell_alignment = alignment,
                                                   .slab_bytes = slab_bytes,
                                                   .header_bytes = header}));
}

TEST(slab_geometry, the_largest_slabs_and_cells_fit_their_fields) {
  constexpr std::size_t largest = std::size_t{1} << (sizeof(void*) == 8 ? 31 : 27);
  for (const std::size_t cell : {std::size_t{1}, std::size_t{3}, std::size_t{1} << 20, (std::size_t{1} << 24) - 1})
    ASSERT_NO_FATAL_FAILURE(
        try_all_colours({.cell_bytes = cell, .cell_alignment = 1, .slab_bytes = largest, .header_bytes = 128}));
}

TEST(slab_geometry, neighbouring_slabs_have_different_colours) {
  constexpr std::size_t slab_bytes = std::size_t{256} << 10;
  const slab_geometry g({.cell_bytes = 64, .cell_alignment = 8, .slab_bytes = slab_bytes, .header_bytes = 128});
  for (std::size_t k = 0; k < 32; ++k) {
    std::byte* const slab = address(slab_bytes * (16 + k));
    EXPECT_EQ(number(g.header_of(slab)) - number(slab), k % slab_geometry::max_colours * slab_geometry::line_bytes);
  }
}

static_assert(ashlar::detail::has_guards == (ashlar::detail::least_guard != 0), "one byte at least, or none");
static_assert(ashlar::detail::has_guards || (ashlar::detail::front_guard == 0 && ashlar::detail::cell_bitmaps == 1),
              "nothing below hardened");

TEST(cell_guard, every_byte_counts) {
  std::array<unsigned char, 64> memory{};
  for (const std::size_t bytes : {1u, 7u, 16u, 48u}) {
    ashlar::detail::fill_guard(memory.data() + 8, bytes);
    EXPECT_TRUE(ashlar::detail::is_guard_intact(memory.data() + 8, bytes));
    for (std::size_t at = 0; at < bytes; ++at) {
      ashlar::detail::mark_readable(memory.data(), memory.size());
      memory[8 + at] ^= 1;
      EXPECT_FALSE(ashlar::detail::is_guard_intact(memory.data() + 8, bytes));
      EXPECT_EQ(ashlar::detail::guard_damage(memory.data() + 8, bytes), at + 1);
      memory[8 + at] ^= 1;
    }
    EXPECT_EQ(ashlar::detail::guard_damage(memory.data() + 8, bytes), 0u);
    ashlar::detail::mark_readable(memory.data(), memory.size());
    EXPECT_EQ(memory[7], 0);
    memory.fill(0);
  }
}

// Slabs of 4 KiB with cells of 64 bytes.
class slabs_remembered : public ::testing::Test {
protected:
  slabs_remembered() { store_.add(geometry_, this, store_.request(geometry_)); }
  ~slabs_remembered() override { store_.release(geometry_); }

  [[nodiscard]] ashlar::detail::slab* remembered(const void* p) const {
    return store_.slabs().find_remembered(geometry_, p);
  }

  ashlar::detail::slab_geometry geometry_ = ashlar::detail::make_slab_geometry({.cell_bytes = 64, .slab_bytes = 4096});
  ashlar::detail::slab_store<ashlar::new_delete_resource> store_{0, {}};
};

TEST_F(slabs_remembered, are_those_that_were_freed_to) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "nothing is looked up";
  const ashlar::detail::cell_batch word = store_.take_batch(geometry_, 1);
  ashlar::detail::slab* const home = store_.slabs().find(geometry_, word.base);
  EXPECT_EQ(remembered(word.base), nullptr);
  store_.remember(geometry_, home);
  EXPECT_EQ(remembered(word.base), home);
  store_.give(geometry_, word.base);  // empty now: it goes, and leaves the table
  store_.shrink(geometry_);
  EXPECT_EQ(remembered(word.base), nullptr);
}

// More slabs than entries, freed in an order that displaces each before its next free.
TEST(slabs_displaced, are_found_nevertheless) {
  constexpr std::size_t slabs = 2 * ashlar::detail::slab_map::places + 1;
  ashlar::block_pool<> pool({.cell_bytes = 1024, .slab_bytes = 4096});
  std::vector<void*> cells;
  while (pool.slabs() < slabs) cells.push_back(pool.allocate());
  for (std::size_t stride = 4; stride-- != 0;)
    for (std::size_t at = stride; at < cells.size(); at += 4) pool.deallocate(cells[at]);
  EXPECT_EQ(pool.live(), 0u);
  EXPECT_TRUE(pool.invariant());
}

TEST(slab, the_invariant_sees_wrong_counts_words_and_bits) {
  using ashlar::detail::slab;
  struct alignas(64) {
    std::byte bytes[sizeof(slab) + 8 * 8 * ashlar::detail::cell_bitmaps];
  } memory = {};
  slab& real = *slab::format(&memory, &memory, memory.bytes, 100);
  static_cast<void>(real.take_batch(64));
  static_cast<void>(real.take_batch(3));
  ASSERT_TRUE(real.invariant());
  ++real.free;
  EXPECT_FALSE(real.invariant());
  real.bits()[1] |= std::uint64_t{1} << 36;  // cell 100, which does not exist
  EXPECT_FALSE(real.invariant());
  --real.free;
  real.bits()[1] &= ~(std::uint64_t{1} << 36);
  real.next = 2;  // there are two words
  EXPECT_FALSE(real.invariant());
}

}  // namespace
