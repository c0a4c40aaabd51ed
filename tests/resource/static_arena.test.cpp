// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of memory laid out in advance.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <ashlar/base/bits.hpp>
#include <ashlar/plan/pack.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/static_arena.hpp>

#include "tests/support/counting_resource.hpp"

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

TEST(static_arena, stands_on_any_buffer) {
  std::vector<std::byte> memory(layout.height + 8);
  const auto room = std::span(memory).subspan(ashlar::address_of(memory.data()) % 8 == 0 ? 0 : 4);
  const ashlar::static_arena arena(room, layout);
  EXPECT_EQ(arena.get(1), room.data() + layout.offsets[1]);
}

TEST(static_arena, takes_one_block_of_any_resource_and_gives_it_back) {
  ashlar_test::counting_resource<> upstream;
  {
    const ashlar::static_arena arena(upstream, layout, 64);
    EXPECT_EQ(upstream.balance().blocks, 1u);
    EXPECT_EQ(upstream.balance().bytes, layout.height);
    EXPECT_TRUE(ashlar::is_aligned(arena.base(), 64));
    *arena.get<std::uint64_t>(0) = 1;
  }
  EXPECT_EQ(upstream.balance().blocks, 0u);
  alignas(8) std::array<std::byte, layout.height> memory{};
  ashlar::buffer_resource buffer(memory);
  const ashlar::static_arena arena(buffer, layout, 8, lives);
  EXPECT_EQ(arena.base(), memory.data());
}

TEST(static_arena, overwrites_what_dies) {
  if (ashlar::checking_level < ashlar::checking::checked) GTEST_SKIP();
  alignas(8) std::array<std::byte, layout.height> memory{};
  using arena_type = ashlar::static_arena<decltype(layout)>;
  arena_type arena(memory.data(), memory.size(), layout, lives);
  std::memset(arena.get(0), 0x11, 64);
  arena.advance(1);
  std::memset(arena.get(1), 0x22, 32);
  EXPECT_EQ(*arena.get(0), std::byte{0x11}) << "still live";
  arena.advance(2);
  EXPECT_EQ(*arena.get(2), std::byte{arena_type::dead_byte}) << "in the place of the first, which died";
  EXPECT_EQ(*arena.get(1), std::byte{0x22});
}

TEST(static_arena, leaves_alone_what_an_alias_still_needs) {
  plan::problem p{.buffers = {buffer::half_open(0, 64, 0, 2, 8), buffer::half_open(1, 64, 1, 3, 8)}};
  p.aliases.push_back({0, 1});
  const plan::layout planned = plan::solve(p);
  alignas(8) std::array<std::byte, 64> memory{};
  ashlar::static_arena arena(memory.data(), memory.size(), planned, p.buffers);
  *arena.get(0) = std::byte{7};
  arena.advance(1);
  arena.advance(2);
  EXPECT_EQ(*arena.get(1), std::byte{7});
}

TEST(static_arena_death, refuses_a_buffer_that_is_not_live) {
  if (ashlar::checking_level < ashlar::checking::checked) GTEST_SKIP();
  alignas(8) std::array<std::byte, layout.height> memory{};
  const ashlar::static_arena arena(memory.data(), memory.size(), layout, lives);
  EXPECT_DEATH(static_cast<void>(arena.get(2)), "not live");
  EXPECT_DEATH(static_cast<void>(arena.get(3)), "not planned");
  EXPECT_DEATH(static_cast<void>(ashlar::static_arena(memory.data(), 8, layout)), "less memory than its layout needs");
  EXPECT_DEATH(static_cast<void>(ashlar::static_arena(memory.data() + 1, layout.height, layout, lives)), "misaligned");
}

}  // namespace
