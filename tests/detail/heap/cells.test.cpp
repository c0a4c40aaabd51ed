// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of cells: their layout and words, and where freed ones wait.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/cell_quarantine.hpp>
#include <ashlar/detail/heap/exact_sizes.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/small_store.hpp>
#include <ashlar/detail/heap/span_header.hpp>

namespace {

using ashlar::detail::cell_layout;
using ashlar::detail::size_classes;
using ashlar::detail::slice_bytes;

TEST(cell_layout, has_room_for_its_cells_at_every_colour) {
  for (std::size_t number = 1; number <= size_classes::count; ++number) {
    const cell_layout layout = cell_layout::of(number);
    EXPECT_GE(layout.slices * slice_bytes, 4 * layout.cell_bytes);
    for (std::size_t turn = 0; turn < layout.colours; ++turn) {
      const std::size_t colour = layout.colour(turn);
      EXPECT_EQ(colour % size_classes::alignment_of(number), 0u);
      EXPECT_LE(colour + layout.capacity(colour) * layout.cell_bytes, layout.slices * slice_bytes);
      EXPECT_GE(layout.capacity(colour) * layout.cell_bytes * 8, layout.slices * slice_bytes * 6);
    }
  }
}

// The sampled addresses of all slabs of a class account for the bytes of these slabs.
TEST(cell_layout, samples_stand_for_all_bytes_of_their_class) {
  EXPECT_TRUE(ashlar::detail::is_sampled(nullptr));
  for (std::size_t number = 1; number <= size_classes::count; ++number) {
    const cell_layout layout = cell_layout::of(number);
    std::size_t samples = 0;
    for (std::size_t turn = 0; turn < layout.colours; ++turn) {
      const std::size_t colour = layout.colour(turn);
      for (std::size_t cell = 0; cell < layout.capacity(colour); ++cell) {
        const std::size_t at = 7 * slice_bytes + colour + cell * layout.cell_bytes;
        samples += ashlar::detail::is_sampled(reinterpret_cast<const void*>(at)) ? 1u : 0u;
      }
    }
    ASSERT_GT(samples, 0u);
    EXPECT_EQ(ashlar::detail::bytes_per_sample(number), layout.colours * layout.slices * slice_bytes / samples);
    EXPECT_LE(samples * 2, layout.colours * layout.capacity(0)) << "few of the cells of class " << number;
  }
}

constexpr std::size_t most = 320, beside = 16;  // a size that calls take, and bytes on each side

class cell_words : public ::testing::TestWithParam<std::size_t> {
protected:
  cell_words() { memory_.fill(0xAA); }
  [[nodiscard]] unsigned char* cell() { return memory_.data() + beside; }
  [[nodiscard]] bool are_neighbours_unchanged() {
    for (std::size_t i = 0; i < beside; ++i)
      if (memory_[i] != 0xAA || cell()[GetParam() + i] != 0xAA) return false;
    return true;
  }

  alignas(16) std::array<unsigned char, most + 2 * beside> memory_;
};

TEST_P(cell_words, clear_and_verify_each_byte) {
  ashlar::detail::clear_free(cell(), GetParam());
  EXPECT_TRUE(are_neighbours_unchanged());
  EXPECT_TRUE(ashlar::detail::is_zero(cell(), GetParam()));
  for (std::size_t at = 0; at < GetParam(); ++at) {
    cell()[at] = 1;
    EXPECT_FALSE(ashlar::detail::is_zero(cell(), GetParam())) << at;
    cell()[at] = 0;
  }
}

INSTANTIATE_TEST_SUITE_P(sizes, cell_words, ::testing::Values(16, 32, 48, 128, 256, most));

using freed_cells = ashlar::detail::freed_cells<4>;

// Removes all.
std::size_t count_taken_from(freed_cells& freed) {
  std::size_t count = 0;
  const auto take = [&](void*) { return ++count != 0; };
  for (std::size_t size_class = 0; size_class < 5; ++size_class) freed.take_groups(size_class, take, take, [] {});
  return count;
}

TEST(freed_cells_test, has_a_limit_for_each_class) {
  freed_cells freed;
  char cells[freed_cells::most + 1];
  for (std::size_t i = 0; i < freed_cells::most; ++i) EXPECT_TRUE(freed.try_add(3, &cells[i]));
  EXPECT_FALSE(freed.try_add(3, &cells[freed_cells::most]));
  EXPECT_FALSE(freed.try_add(4, &cells[0])) << "no such class";
  EXPECT_TRUE(freed.try_add(1, &cells[0]));
  EXPECT_EQ(count_taken_from(freed), freed_cells::most + 1);
  EXPECT_TRUE(freed.try_add(3, &cells[0]));
  freed.clear();
  EXPECT_EQ(count_taken_from(freed), 0u);
}

// More groups than passes over the list.
TEST(freed_cells_test, leaves_in_groups) {
  constexpr std::size_t groups = 6;
  freed_cells freed;
  char cells[freed_cells::most];
  for (char& each : cells) EXPECT_TRUE(freed.try_add(2, &each));
  const auto place = [&](void* cell) { return static_cast<std::size_t>(static_cast<char*>(cell) - cells); };
  std::vector<std::size_t> group, all;
  std::size_t ended = 0;
  freed.take_groups(
      2, [&](void* cell) { group = {place(cell)}; },
      [&](void* cell) {
        const bool is_same = place(cell) % groups == group[0] % groups;
        if (is_same) group.push_back(place(cell));
        return is_same;
      },
      [&] { all.insert(all.end(), group.begin(), group.end()), ++ended; });
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), freed_cells::most);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);
  EXPECT_LT(ended, 16u);
  EXPECT_EQ(count_taken_from(freed), 0u);
}

TEST(freed_cells_test, none_wait_where_cells_have_free_lists) {
  char cell = 0;
  EXPECT_FALSE(ashlar::detail::no_freed_cells::try_add(1, &cell));
}

using ashlar::detail::span_header;

TEST(partial_slabs_test, hand_out_each_cell_of_the_batch_once) {
  constexpr std::size_t cell_bytes = 48;
  alignas(64) std::array<std::byte, 64 * cell_bytes> memory;
  ashlar::detail::partial_slabs of_class;
  of_class.batch = {memory.data(), std::uint64_t{0b1011'0001} | std::uint64_t{1} << 63};
  of_class.cell_bytes = cell_bytes;
  std::set<std::ptrdiff_t> seen;
  for (std::uint64_t random = 9; of_class.batch.mask != 0; random = random * 5 % 64) {
    const ashlar::detail::sized_cell cell = of_class.take_any(random);
    EXPECT_EQ(cell.bytes, cell_bytes);
    seen.insert((cell.data - memory.data()) / static_cast<std::ptrdiff_t>(cell_bytes));
  }
  EXPECT_EQ(seen, (std::set<std::ptrdiff_t>{0, 4, 5, 7, 63}));
}

static_assert(sizeof(ashlar::detail::span_header) == 64 && alignof(ashlar::detail::span_header) == 64);

TEST(span_header, finds_its_cells) {
  alignas(64) std::byte memory[1024] = {};
  ashlar::detail::span_header slab{};
  slab.cells = memory + 64, slab.cell_bytes = 48, slab.capacity = 20;
  slab.by_cell = ashlar::detail::reciprocal(48);
  for (std::uint32_t i = 0; i < slab.capacity; ++i) {
    EXPECT_EQ(slab.index_of(slab.cell(i)), i);
    EXPECT_EQ(slab.index_of(slab.cell(i) + 47), i);
    EXPECT_TRUE(slab.is_cell(slab.cell(i)) && !slab.is_cell(slab.cell(i) + 16));
  }
  EXPECT_FALSE(slab.is_cell(memory)) << "before the first";
  EXPECT_FALSE(slab.is_cell(slab.cell(20))) << "after the last";
}

TEST(fresh_block, is_cleared_unless_it_is_zero_or_nothing) {
  std::byte bytes[4] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  EXPECT_EQ(ashlar::detail::zeroed({bytes, true}, 4), bytes);
  EXPECT_EQ(bytes[0], std::byte{1}) << "not written to";
  EXPECT_EQ(ashlar::detail::zeroed({bytes, false}, 3), bytes);
  EXPECT_EQ(std::count(bytes, bytes + 4, std::byte{0}), 3);
  EXPECT_EQ(ashlar::detail::zeroed({}, 4), nullptr);
}

}  // namespace
