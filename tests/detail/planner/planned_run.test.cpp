// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the live blocks of a run of a plan.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/detail/planner/planned_run.hpp>
#include <ashlar/plan/steps.hpp>

#include "tests/support/death.hpp"

namespace {

using ashlar::detail::planned_run;
using ashlar::plan::step;

struct table {
  std::array<std::uint64_t, 3> offsets, sizes;
};
constexpr table three{{0, 64, 0}, {64, 24, 48}};
constexpr std::array<std::uint32_t, 4> steps{step::birth(0).code, step::birth(1).code, step::death(0).code,
                                             step::birth(2).code};

static_assert(std::is_empty_v<ashlar::detail::unwatched_run>, "the fast level pays nothing");

struct planned_memory : testing::Test {
  alignas(64) std::array<std::byte, 96> memory{};
  planned_run<table> run{memory.data(), three, steps};

  const void* at(std::size_t offset) const { return memory.data() + offset; }
  void follow(int count) {
    for (int i = 0; i < count; ++i) run.follow();
  }
};
using planned_run_test = planned_memory;
using planned_run_death = planned_memory;

TEST_F(planned_run_test, knows_what_is_live) {
  follow(2);
  run.expect_live(at(0), 64, 16, nullptr);
  run.expect_live(at(64), 24, 64, nullptr);
  follow(2);
  run.expect_live(at(0), 48, 16, nullptr);
}

TEST_F(planned_run_test, a_restart_forgets_strays) {
  follow(2);
  run.stray(at(64));
  run.stray(at(0));
  run.restart();
  follow(1);
  run.expect_live(at(0), 64, 16, nullptr);
}

TEST_F(planned_run_death, what_is_not_live_is_named) {
  follow(3);
  ASHLAR_EXPECT_DEATH(run.expect_live(at(0), 64, 16, nullptr),
                      "ashlar: double_free: freed a planned block that is free, pointer 0x*");
  ASHLAR_EXPECT_DEATH(run.expect_live(at(72), 24, 8, nullptr),
                      "ashlar: misaligned_free: freed a pointer into the middle of a planned block, pointer 0x*");
  ASHLAR_EXPECT_DEATH(run.expect_live(at(90), 24, 1, nullptr),
                      "ashlar: invalid_free: freed a pointer where no planned block starts, pointer 0x*");
  ASHLAR_EXPECT_DEATH(run.expect_live(at(64), 25, 1, nullptr),
                      "ashlar: size_mismatch: freed a planned block with more bytes than were planned, pointer 0x*, "
                      "expected 24, got 25");
  run.stray(at(64));
  ASHLAR_EXPECT_DEATH(run.expect_live(at(64), 24, 1, nullptr),
                      "ashlar: double_free: freed a planned block that is free, pointer 0x*");
}

}  // namespace
