// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of small cells in windows: all cells of a window of each class, the spare window, and returned windows.
#include <cstddef>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/block.hpp>
#include <ashlar/detail/heap/cell_windows.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace {

using ashlar::detail::cell_window;
using ashlar::detail::cell_windows;

constexpr std::size_t room = cell_window::bytes - 8;

struct windows_in_memory {
  static constexpr std::size_t count = 3;

  [[nodiscard]] std::byte* window(std::size_t index) { return first + index * cell_window::bytes; }

  std::vector<std::byte> memory = std::vector<std::byte>((count + 1) * cell_window::bytes);
  std::byte* first = ashlar::detail::align_up(memory.data(), cell_window::bytes);
  ashlar::block whole{first, count* cell_window::bytes};
  std::vector<std::byte> records = std::vector<std::byte>(cell_windows::record_bytes(whole) + 64);
  cell_windows cells;

  windows_in_memory() { cells.begin(ashlar::detail::align_up(records.data(), alignof(cell_window)), whole, room); }
};

TEST(cell_windows, every_cell_of_every_class_lies_in_its_window_and_comes_back) {
  for (std::size_t number = 1; number <= cell_windows::classes::count; ++number) {
    windows_in_memory m;
    EXPECT_EQ(m.cells.take(number), nullptr);
    const std::size_t bytes = cell_windows::classes::bytes_of(number);
    std::set<std::byte*> taken = {m.cells.take_from_new(m.window(1), number)};
    while (std::byte* const p = m.cells.take(number)) {
      ASSERT_TRUE(p >= m.window(1) && p + bytes <= m.window(1) + room);
      ASSERT_TRUE(ashlar::detail::is_aligned(p, cell_windows::classes::alignment_of(number)));
      ASSERT_TRUE(taken.insert(p).second);
    }
    EXPECT_EQ(taken.size(), room / bytes);
    EXPECT_TRUE(m.cells.invariant() && m.cells.has_cells(m.window(1)) && !m.cells.has_cells(m.window(2)));
    for (std::byte* const p : taken) {
      cell_window& home = m.cells.of(p);
      ASSERT_TRUE(home.is_cell(p) && !home.is_cell(p + 1) && !home.is_free(home.index_of(p)));
      EXPECT_EQ(m.cells.give(home, p), nullptr);  // the last free makes the window the spare one
      ASSERT_TRUE(home.is_free(home.index_of(p)));
    }
    EXPECT_TRUE(m.cells.invariant());
    EXPECT_EQ(m.cells.drop_spare(), m.window(1));
    EXPECT_FALSE(m.cells.has_cells(m.window(1)));
  }
}

TEST(cell_windows, one_empty_window_is_kept_for_any_class_and_the_next_goes) {
  windows_in_memory m;
  std::byte* const p = m.cells.take_from_new(m.window(0), 1);
  std::byte* const q = m.cells.take_from_new(m.window(2), 5);
  EXPECT_EQ(m.cells.give(m.cells.of(p), p), nullptr);
  EXPECT_EQ(m.cells.give(m.cells.of(q), q), m.window(2));
  EXPECT_TRUE(m.cells.invariant());
  EXPECT_EQ(m.cells.take(9), m.window(0));
  EXPECT_EQ(m.cells.drop_spare(), nullptr);
  m.cells.clear();
  EXPECT_TRUE(m.cells.take(9) == nullptr && !m.cells.has_cells(m.window(0)) && m.cells.invariant());
}

}  // namespace
