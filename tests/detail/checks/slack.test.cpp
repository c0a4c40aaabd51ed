// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the bytes behind a block, and of seals.
#include <array>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/poison.hpp>

#include "tests/support/death.hpp"

namespace {

using ashlar::detail::fill_slack;
using ashlar::detail::look_at_slack;
using ashlar::detail::slack_state;

constexpr std::size_t cell_bytes = 300;
using cell_type = std::array<std::byte, cell_bytes>;

cell_type cell_of(std::size_t bytes, std::byte contents) {
  cell_type cell;
  cell.fill(contents);
  fill_slack(cell.data(), bytes, cell_bytes);
  return cell;
}

TEST(slack, sees_each_byte_behind_the_request) {
  for (std::size_t bytes = 0; bytes < cell_bytes; ++bytes)
    for (std::size_t at = bytes; at + 1 < cell_bytes; ++at) {
      cell_type cell = cell_of(bytes, std::byte{0});
      cell[at] = ~cell[at];
      const slack_state found = look_at_slack(cell.data(), bytes, cell_bytes);
      ASSERT_FALSE(found.is_intact) << bytes << ' ' << at;
      ASSERT_EQ(found.allocated, bytes);
      ASSERT_EQ(found.written_to, at + 1);
    }
}

TEST(slack, sees_a_terminator_anywhere) {
  for (std::size_t bytes = 0; bytes < cell_bytes; ++bytes)
    for (std::size_t at = bytes; at < cell_bytes; ++at) {
      cell_type cell = cell_of(bytes, std::byte{0xEE});
      cell[at] = std::byte{0};
      ASSERT_FALSE(look_at_slack(cell.data(), bytes, cell_bytes).is_intact) << bytes << ' ' << at;
    }
}

TEST(slack, detects_a_fill_of_two_bytes_and_more_with_any_value) {
  for (unsigned value = 0; value < 256; ++value)
    for (std::size_t bytes = 0; bytes + 2 <= cell_bytes; bytes += 7) {
      cell_type cell = cell_of(bytes, std::byte{1});
      cell[bytes] = cell[bytes + 1] = static_cast<std::byte>(value);
      EXPECT_FALSE(look_at_slack(cell.data(), bytes, cell_bytes).is_intact) << bytes << ' ' << value;
    }
}

// Sizes up to the period of the canary: sizes that differ by a multiple of it have equal canaries.
TEST(slack, tells_which_size_was_asked_for) {
  for (std::size_t bytes = 0; bytes < cell_bytes; ++bytes)
    for (std::size_t given = 0; given < cell_bytes; ++given) {
      if (given % ashlar::detail::slack_period == bytes % ashlar::detail::slack_period) continue;
      const cell_type cell = cell_of(bytes, std::byte{0xEE});
      const slack_state found = look_at_slack(cell.data(), given, cell_bytes);
      ASSERT_FALSE(found.is_intact) << bytes << ' ' << given;
      ASSERT_EQ(found.allocated, bytes) << given;
    }
}

TEST(slack, of_a_fresh_cell_is_as_of_any_other) {
  for (std::size_t size = 0; size <= 40; ++size)
    for (std::size_t bytes = 0; bytes <= size; ++bytes) {
      cell_type fresh{}, other{};
      ashlar::detail::fill_fresh_slack(fresh.data(), bytes, size);
      fill_slack(other.data(), bytes, size);
      for (std::size_t at = bytes; at < fresh.size(); ++at) ASSERT_EQ(fresh[at], other[at]) << bytes << ' ' << size;
    }
}

TEST(slack, intact_is_distinguished_from_a_write_to_the_bytes_before_it) {
  for (std::size_t size = 0; size <= 40; ++size)
    for (std::size_t bytes = 0; bytes <= size; ++bytes) {
      cell_type cell{};
      fill_slack(cell.data(), bytes, size);
      for (std::size_t at = 0; at < size; ++at) {
        ASSERT_TRUE(ashlar::detail::is_slack_intact(cell.data(), bytes, size));
        cell[at] ^= std::byte{0x10};
        ASSERT_EQ(ashlar::detail::is_slack_intact(cell.data(), bytes, size), at < bytes)
            << at << ' ' << bytes << ' ' << size;
        cell[at] ^= std::byte{0x10};
      }
    }
}

TEST(watched_slack, is_intact_or_gives_the_extent_of_writes) {
  std::array<std::byte, 96> block{};
  for (std::size_t bytes = 0; bytes < block.size(); bytes += 5) {
    ashlar::detail::fill_watched_slack(block.data(), bytes, block.size());
    EXPECT_TRUE(ashlar::detail::look_at_watched_slack(block.data(), bytes, block.size()).is_intact);
    ashlar::detail::mark_live(block.data() + bytes, 1);
    block[bytes] ^= std::byte{1};
    const ashlar::detail::slack_state found = ashlar::detail::look_at_watched_slack(block.data(), bytes, block.size());
    EXPECT_FALSE(found.is_intact);
    if (bytes + 1 < block.size()) EXPECT_EQ(found.written_to, bytes + 1);
    ashlar::detail::mark_live(block.data(), block.size());
  }
}

TEST(watched_slack, reports_writes_beside_a_block) {
  int block = 0;
  ASHLAR_EXPECT_DEATH(
      ashlar::detail::report_write_behind(&block, 0, 100, 101, &block),
      "ashlar: overflow: bytes past the end of a block were written to, pointer 0x*, resource 0x*, expected "
      "100, got 101");
  ASHLAR_EXPECT_DEATH(ashlar::detail::report_write_before(&block, 24, &block),
                      "ashlar: underflow: bytes before a block were written to, pointer 0x*, resource 0x*, size 24");
}

using ashlar::detail::seal_of;

TEST(seal, changes_with_each_bit_of_each_word) {
  const int place = 0;
  const std::uintptr_t whole = seal_of(&place, std::size_t{40'000}, &place, std::size_t{0});
  for (std::size_t bit = 0; bit < 8 * sizeof(std::size_t); ++bit) {
    const std::size_t flip = std::size_t{1} << bit;
    EXPECT_NE(whole, seal_of(&place, std::size_t{40'000} ^ flip, &place, std::size_t{0}));
    EXPECT_NE(whole, seal_of(&place, std::size_t{40'000}, &place, flip));
  }
  EXPECT_EQ(whole, seal_of(&place, std::size_t{40'000}, &place, std::size_t{0}));
}

TEST(seal, changes_with_the_order_and_the_address) {
  const int places[2] = {};
  EXPECT_NE(seal_of(places, std::size_t{1}, std::size_t{2}), seal_of(places, std::size_t{2}, std::size_t{1}));
  EXPECT_NE(seal_of(places, std::size_t{1}), seal_of(places + 1, std::size_t{1}));
}

TEST(seal, of_zeroes_is_not_zero) {
  const int place = 0;
  EXPECT_NE(seal_of(&place, std::size_t{0}, static_cast<const void*>(nullptr)), 0u);
}

}  // namespace
