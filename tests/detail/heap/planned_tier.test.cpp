// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the planned tier: plans of three origins, its clock, its range, and frees without an effect.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/planned_tier.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/heap/tiered_heap.hpp>
#include <ashlar/plan/pack.hpp>
#include <ashlar/plan/solve.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/static_plans.hpp"

namespace {

using namespace ashlar_test::static_plans;

template <class Plan>
void expect_offsets() {
  ashlar_test::counting_resource<> upstream;
  ashlar::detail::planned_tier<Plan> tier(upstream);
  EXPECT_EQ(upstream.balance().bytes, Plan::bytes());
  EXPECT_TRUE(ashlar::detail::is_aligned(tier.base(), Plan::alignment()));
  for (std::size_t i = 0; i < Plan::count(); ++i) {
    tier.advance(i);
    EXPECT_EQ(tier.resolve(i), tier.base() + Plan::offset_of(i));
    EXPECT_TRUE(tier.has(tier.resolve(i) + Plan::size_of(i) - 1));
    *tier.resolve(i) = std::byte{1};
  }
}

TEST(planned_tier, resolves_by_plans_of_any_origin) {
  expect_offsets<with_lives>();
  expect_offsets<of_table>();
  expect_offsets<of_start>();
}

TEST(planned_tier, ends_where_its_plan_does) {
  alignas(64) std::array<std::byte, 256> memory{};
  const ashlar::detail::planned_tier<of_table> tier(std::span<std::byte>(memory).subspan(32));
  EXPECT_EQ(tier.base(), memory.data() + 32);
  EXPECT_TRUE(tier.has(tier.base()) && tier.has(tier.base() + 177));
  EXPECT_FALSE(tier.has(tier.base() - 1) || tier.has(tier.base() + 178) || tier.has(nullptr));
}

TEST(planned_tier, counts_what_is_live_now) {
  alignas(64) std::array<std::byte, layout.height> memory{};
  ashlar::detail::planned_tier<with_lives> tier(memory);
  const std::array<std::array<std::size_t, 2>, 5> expected{{{1, 64}, {2, 96}, {2, 96}, {1, 64}, {0, 0}}};
  for (std::size_t now = 0; now < 5; ++now) {
    tier.advance(now);
    const ashlar::detail::planned_statistics sums = tier.statistics();
    EXPECT_EQ((std::array{sums.live_buffers, sums.live_bytes}), expected[now]) << now;
    EXPECT_TRUE(sums.buffers == 3 && sums.planned_bytes == layout.height);
  }
  alignas(32) std::array<std::byte, 178> unknown{};
  EXPECT_EQ(ashlar::detail::planned_tier<of_table>(unknown).statistics().live_buffers, 0u) << "nobody knows";
}

TEST(planned_tier, may_be_looked_at_while_its_clock_goes_on) {
  alignas(64) std::array<std::byte, layout.height> memory{};
  ashlar::detail::planned_tier<with_lives> tier(memory);
  constexpr std::size_t rounds = 3000;
  std::atomic<std::size_t> looked = 0, live = 0;
  std::thread looks([&] {
    for (; looked < rounds; ++looked) live += tier.statistics().live_buffers;
  });
  for (std::uint64_t now = 0; looked < rounds; ++now) {
    tier.advance(now % 4);
    std::this_thread::yield();
  }
  looks.join();
  EXPECT_TRUE(live >= rounds && live <= 2 * rounds);
}

#if ASHLAR_HAS_EXCEPTIONS
TEST(planned_tier, reports_exhausted_memory) {
  ashlar_test::counting_resource<> upstream;
  upstream.fail_from(0);
  EXPECT_THROW(ashlar::detail::planned_tier<with_lives>{upstream}, std::bad_alloc);
}

constexpr table too_high{
    {7, 8}, {0, 128}, {100, 50}, (std::uint64_t{1} << 62) + 178, 32};  // on 32 bits its low half would fit

TEST(planned_tier, takes_no_less_than_a_plan_that_fits_into_no_address_space) {
  ashlar_test::counting_resource<> upstream;
  EXPECT_THROW(ashlar::detail::planned_tier<ashlar::static_plan<too_high>>{upstream}, std::bad_alloc);
  EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
}
#endif

TEST(planned_tier_death, names_what_is_no_live_buffer) {
  alignas(64) std::array<std::byte, layout.height> memory{};
  ashlar::detail::planned_tier<with_lives> tier(memory);
  const auto expect_live = [&](std::size_t offset, std::size_t bytes) {
    tier.expect_live(tier.base() + offset, bytes, &tier);
  };
  const std::size_t first = layout.offsets[0], second = layout.offsets[1];
  expect_live(first, 0), expect_live(first, 64);
  ASHLAR_EXPECT_DEATH(expect_live(second, 0),
                      "ashlar: double_free: freed a planned buffer that is not live, pointer 0x*, resource 0x*");
  tier.advance(2);
  expect_live(second, 32), expect_live(first, 1);  // now it belongs to the third buffer, at the same place
  ASHLAR_EXPECT_DEATH(expect_live(second, 33), "ashlar: size_mismatch: freed a planned buffer with a larger size than "
                                               "was planned, pointer 0x*, resource 0x*, size 33, expected 32, got 33");
  ASHLAR_EXPECT_DEATH(
      expect_live(second + 1, 0),
      "ashlar: misaligned_free: freed a pointer into the middle of a planned buffer, pointer 0x*, resource 0x*");
  tier.advance(4);
  ASHLAR_EXPECT_DEATH(expect_live(first, 0),
                      "ashlar: double_free: freed a planned buffer that is not live, pointer 0x*, resource 0x*");
  ASHLAR_EXPECT_DEATH(tier.expect_live(tier.base() + first, 0, &tier, ashlar::detail::resizing_planned),
                      "ashlar: double_free: resized a planned buffer that is not live, pointer 0x*, resource 0x*");
}

TEST(planned_tier_death, wants_its_memory_aligned_whether_lives_are_known_or_not) {
  if (!ashlar_test::is_checked) GTEST_SKIP();
  alignas(64) std::array<std::byte, 256> memory{};
  const auto odd = std::span<std::byte>(memory).subspan(16);
  EXPECT_DEATH(ashlar::detail::planned_tier<with_lives>{odd}, "gave a plan memory without the alignment of its layout");
  EXPECT_DEATH(ashlar::detail::planned_tier<of_table>{odd}, "gave a plan memory without the alignment of its layout");
}

TEST(planned_tier_death, resolves_as_static_arena_does) {
  if (!ashlar_test::is_checked) GTEST_SKIP();
  alignas(64) std::array<std::byte, layout.height> memory{};
  const ashlar::detail::planned_tier<with_lives> tier(memory);
  EXPECT_DEATH(static_cast<void>(tier.resolve(2)), "asked a static_arena for a buffer that is not live");
  EXPECT_DEATH(static_cast<void>(tier.resolve(3)), "asked a static_arena for a buffer that was not planned");
}

}  // namespace
