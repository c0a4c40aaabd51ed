// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of size classes, of the layout of slabs, their guards, and the map by which they are found.
#include <algorithm>
#include <array>
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

#include "tests/support/build.hpp"

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
using ashlar::detail::options_of_class;
using ashlar::detail::pool_classes;
using heap = ashlar::new_delete_resource;

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

// The models of pools have few sizes.
TEST(slab_geometry, divides_by_the_stride_of_any_cell) {
  for (const std::size_t slab_bytes : {std::size_t{16} << 10, std::size_t{256} << 10, ashlar::detail::largest_slab})
    for (std::size_t bytes = 1; bytes <= 4096; bytes += ashlar_test::cases_of_build(5U, 1U)) {
      const auto g = ashlar::detail::make_slab_geometry({.cell_bytes = bytes, .slab_bytes = slab_bytes});
      const std::uint32_t capacity = g.capacity(nullptr);
      for (std::uint32_t i = 0; i < capacity; i += std::max(capacity / 50, 1u))
        ASSERT_EQ(g.index_of(i * g.cell_stride()), i) << bytes;
      ASSERT_EQ(g.index_of((capacity - 1) * g.cell_stride()), capacity - 1) << bytes;
    }
}

TEST(slab_geometry, neighbouring_slabs_have_different_colours) {
  constexpr std::size_t slab_bytes = std::size_t{256} << 10;
  const slab_geometry g({.cell_bytes = 64, .cell_alignment = 8, .slab_bytes = slab_bytes, .header_bytes = 128});
  for (std::uintptr_t k = 0; k < 32; ++k) {
    auto* const slab = reinterpret_cast<std::byte*>(slab_bytes * (16 + k));  // never touched
    EXPECT_EQ(static_cast<std::size_t>(g.header_of(slab) - slab),
              k % slab_geometry::max_colours * slab_geometry::line_bytes);
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
