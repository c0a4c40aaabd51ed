// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of free lists with two known top cells, against a vector.
#include <array>
#include <cstddef>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/pair_stack.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace {

struct alignas(16) cell {
  std::array<std::byte, 16> bytes;
};

TEST(pair_stack, gives_back_last_in_first_out) {
  std::vector<cell> cells(300);
  std::vector<void*> outside;
  for (cell& each : cells) outside.push_back(&each);
  ashlar::detail::pair_stacks<3> stacks;
  std::array<std::vector<void*>, 3> model;
  std::mt19937 random(1);
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t stack = random() % 3;
    if (random() % 2 == 0 && !outside.empty()) {
      stacks.push(stack, outside.back());
      model[stack].push_back(outside.back());
      outside.pop_back();
    } else {
      void* const got = stacks.pop(stack);
      ASSERT_EQ(got, model[stack].empty() ? nullptr : model[stack].back());
      if (got == nullptr) continue;
      model[stack].pop_back();
      outside.push_back(got);
    }
    ASSERT_EQ(stacks.is_empty(stack), model[stack].empty());
  }
  for (std::size_t stack = 0; stack < 3; ++stack) {
    std::vector<void*> seen;
    stacks.for_each(stack, [&](void* each) { seen.insert(seen.begin(), each); });
    EXPECT_EQ(seen, model[stack]);
    EXPECT_EQ(stacks.next_of(stack), seen.size() > 1 ? seen[seen.size() - 2] : nullptr);
  }
  stacks.clear();
  EXPECT_EQ(stacks.pop(0), nullptr);
  ashlar::detail::mark_live(cells.data(), cells.size() * sizeof(cell));
}

// A write to any byte of a link; the second word is the seal of level checked.
TEST(pair_stack, a_link_that_was_written_to_is_not_sound) {
  using stacks_type = ashlar::detail::pair_stacks<1>;
  if (!stacks_type::seals_links) GTEST_SKIP() << "links are sealed at level checked";
  std::array<cell, 4> cells{};
  stacks_type stacks;
  for (cell& each : cells) stacks.push(0, &each);
  for (cell& each : cells) {
    ashlar::detail::mark_readable(&each, sizeof(each));
    EXPECT_TRUE(stacks_type::is_sound(&each));
    for (std::size_t at = 0; at < stacks_type::link_bytes; ++at) {
      each.bytes[at] ^= std::byte{1};
      EXPECT_FALSE(stacks_type::is_sound(&each)) << at;
      each.bytes[at] ^= std::byte{1};
    }
  }
  cells[3] = cells[2];
  EXPECT_FALSE(stacks_type::is_sound(&cells[3])) << "it is another cell's";
  cells[3].bytes.fill(std::byte{});
  EXPECT_FALSE(stacks_type::is_sound(&cells[3]));
}

}  // namespace
