// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the marks of runs against a list of runs.
#include <ashlar/detail/slab/run_marks.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::run_marks;

static_assert(std::is_empty_v<ashlar::detail::no_run_marks>);

constexpr std::uint32_t words = 3;

[[nodiscard]] std::uint64_t cells(std::uint32_t first, std::size_t length) {
  return (~std::uint64_t{0} >> (64 - length)) << (first % 64);
}

TEST(run_marks, know_where_each_run_starts_and_how_long_it_is) {
  std::array<std::uint64_t, words> memory;
  memory.fill(~std::uint64_t{0});  // garbage
  run_marks marks;
  EXPECT_TRUE(marks.needs_memory());
  marks.use(memory.data(), words);
  EXPECT_FALSE(marks.needs_memory() || marks.is_unknown());
  std::mt19937 random(1);
  std::array<std::size_t, words * 64> length_of = {};  // 0: in no run
  for (int step = 0; step < 20'000; ++step) {
    const auto first = static_cast<std::uint32_t>(random() % (words * 64));
    if (length_of[first] != 0) {
      marks.unmark(first / 64, cells(first, length_of[first]));
      length_of[first] = 0;
    } else {
      std::size_t room = 0;
      while (first % 64 + room < 64 && length_of[first + room] == 0 &&
             !marks.is_inside(first + static_cast<std::uint32_t>(room)))
        ++room;
      if (room == 0) continue;
      length_of[first] = 1 + random() % room;
      marks.mark(first / 64, cells(first, length_of[first]));
    }
    for (std::uint32_t cell = 0, inside = 0; cell < words * 64; ++cell) {
      if (length_of[cell] != 0) inside = cell + static_cast<std::uint32_t>(length_of[cell]);
      ASSERT_EQ(marks.is_inside(cell), length_of[cell] == 0 && cell < inside) << cell;
      if (length_of[cell] != 0) ASSERT_EQ(marks.length_at(cell), length_of[cell]) << cell;
    }
  }
}

TEST(run_marks, without_memory_know_nothing_and_say_so) {
  run_marks marks;
  marks.use(nullptr, words);
  EXPECT_TRUE(marks.is_unknown());
  EXPECT_FALSE(marks.needs_memory()) << "runs before would be unmarked";
  marks.mark(0, cells(3, 5));
  EXPECT_FALSE(marks.is_inside(4));
  EXPECT_EQ(marks.length_at(3), 1u);
  marks.unmark(0, cells(3, 5));
}

}  // namespace
