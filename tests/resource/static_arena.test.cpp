// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of memory laid out in advance.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include <ashlar/plan/pack.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/resource/static_arena.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

constexpr std::array<buffer, 3> lives{buffer::half_open(0, 64, 0, 2, 8), buffer::half_open(1, 32, 1, 3, 8),
                                      buffer::half_open(2, 64, 2, 4, 8)};
constexpr auto layout = plan::solve(lives);

TEST(static_arena, adds_the_planned_offset) {
  alignas(8) std::array<std::byte, layout.height> memory{};
  const ashlar::static_arena arena(memory.data(), memory.size(), layout);
  for (std::size_t i = 0; i < lives.size(); ++i) EXPECT_EQ(arena.get(i), memory.data() + layout.offsets[i]);
  EXPECT_EQ(arena.get(0), arena.get(2)) << "never live together";
  EXPECT_TRUE(arena.owns(memory.data()));
  EXPECT_FALSE(arena.owns(memory.data() + layout.height));
}

TEST(static_arena, gives_typed_storage_of_a_run_time_plan) {
  const plan::problem p{.buffers = {lives.begin(), lives.end()}};
  const plan::layout planned = plan::solve(p);
  alignas(8) std::array<std::byte, 256> memory{};
  const ashlar::static_arena arena(memory.data(), memory.size(), planned);
  *arena.get<std::uint64_t>(1) = 7;
  EXPECT_EQ(*arena.get<std::uint64_t>(1), 7u);
}

TEST(static_arena, follows_the_clock_of_the_plan) {
  alignas(8) std::array<std::byte, layout.height> memory{};
  ashlar::static_arena arena(memory.data(), memory.size(), layout, lives);
  for (std::uint64_t now = 0; now < 4; ++now) {
    arena.advance(now);
    for (std::size_t i = 0; i < lives.size(); ++i)
      if (lives[i].birth <= now && now < lives[i].death) *arena.get(i) = std::byte{1};
  }
}

TEST(static_arena_death, refuses_a_buffer_that_is_not_live) {
  if (ashlar::checking_level < ashlar::checking::checked) GTEST_SKIP();
  alignas(8) std::array<std::byte, layout.height> memory{};
  const ashlar::static_arena arena(memory.data(), memory.size(), layout, lives);
  EXPECT_DEATH(static_cast<void>(arena.get(2)), "not live");
  EXPECT_DEATH(static_cast<void>(arena.get(3)), "not planned");
}

}  // namespace
