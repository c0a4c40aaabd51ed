// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the canary behind a request for every size in a cell, every byte behind it and every other size.
#include <ashlar/detail/checks/slack.hpp>

#include <array>
#include <cstddef>
#include <string_view>

#include <gtest/gtest.h>

#include <ashlar/detail/support/poison.hpp>

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

TEST(slack, stands_where_only_the_requested_bytes_are_written) {
  for (std::size_t bytes = 0; bytes <= cell_bytes; ++bytes) {
    cell_type cell = cell_of(bytes, std::byte{0});
    for (std::size_t at = 0; at < bytes; ++at) cell[at] = std::byte{0xEE};
    EXPECT_TRUE(look_at_slack(cell.data(), bytes, cell_bytes).is_intact) << bytes;
  }
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

// A caller need not write all requested bytes, and tools report reads of unwritten ones.
TEST(slack, does_not_look_at_what_was_asked_for) {
  alignas(8) cell_type cell = cell_of(64, std::byte{0});
  ashlar::detail::mark_free(cell.data(), 64);
  EXPECT_TRUE(look_at_slack(cell.data(), 64, cell_bytes).is_intact);
  ashlar::detail::mark_live(cell.data(), 64);
}

TEST(slack, sees_a_terminator_anywhere) {
  for (std::size_t bytes = 0; bytes < cell_bytes; ++bytes)
    for (std::size_t at = bytes; at < cell_bytes; ++at) {
      cell_type cell = cell_of(bytes, std::byte{0xEE});
      cell[at] = std::byte{0};
      ASSERT_FALSE(look_at_slack(cell.data(), bytes, cell_bytes).is_intact) << bytes << ' ' << at;
    }
}

TEST(slack, sees_one_byte_of_text_or_of_a_small_number_right_behind) {
  for (const char value : std::string_view("\x01\x02\xFF \n09AZaz"))
    for (std::size_t bytes = 0; bytes < cell_bytes; ++bytes) {
      cell_type cell = cell_of(bytes, std::byte{0xEE});
      cell[bytes] = static_cast<std::byte>(value);
      ASSERT_FALSE(look_at_slack(cell.data(), bytes, cell_bytes).is_intact) << bytes << ' ' << int{value};
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

TEST(slack, a_full_cell_freed_as_a_smaller_one_is_seen) {
  cell_type cell;
  cell.fill(std::byte{0xEE});  // an even byte is never part of a canary
  for (std::size_t given = 0; given < cell_bytes; ++given) {
    const slack_state found = look_at_slack(cell.data(), given, cell_bytes);
    ASSERT_FALSE(found.is_intact);
    EXPECT_EQ(found.written_to, cell_bytes);
  }
}

TEST(slack, there_is_none_in_a_full_cell) {
  const cell_type cell = cell_of(cell_bytes, std::byte{0xEE});
  EXPECT_TRUE(look_at_slack(cell.data(), cell_bytes, cell_bytes).is_intact);
  EXPECT_EQ(cell.back(), std::byte{0xEE});
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

}  // namespace
