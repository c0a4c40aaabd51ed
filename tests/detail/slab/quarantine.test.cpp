// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that freed cells rest: behind the other cells of their slab, in the order of their frees, for a bounded time.
#include <ashlar/detail/slab/quarantine.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/detail/slab/cell_guard.hpp>
#include <ashlar/detail/slab/slab.hpp>

namespace {

using ashlar::detail::slab;

struct alignas(64) slab_memory {
  std::byte bytes[sizeof(slab) + 4 * 8 * 3];
};

class quarantine : public ::testing::Test {
protected:
  static constexpr std::uint32_t cells = 200;

  void SetUp() override {
    if (!ashlar::detail::has_guards) GTEST_SKIP() << "cells rest at hardened";
    while (slab_->free != 0) static_cast<void>(slab_->take_batch(64));
  }

  void free(std::uint32_t cell) {
    slab_->set_free(cell);
    resting_.add(slab_, cell);
  }

  [[nodiscard]] std::uint32_t take() {
    const slab::taken got = resting_.take_batch(slab_, 1);
    EXPECT_EQ(std::popcount(got.mask), 1);
    return got.word * 64 + static_cast<std::uint32_t>(std::countr_zero(got.mask));
  }

  slab_memory memory_;
  slab* slab_ = slab::format(&memory_, this, memory_.bytes, cells);
  ashlar::detail::quarantine resting_;
};

TEST_F(quarantine, a_cell_that_rests_comes_after_one_that_does_not) {
  free(3);
  slab_->set_free(150);
  EXPECT_EQ(take(), 150u);
  EXPECT_EQ(take(), 3u);
}

TEST_F(quarantine, where_all_rest_the_one_that_died_first_is_taken) {
  for (const std::uint32_t cell : {70u, 5u, 199u, 6u}) free(cell);
  for (const std::uint32_t cell : {70u, 5u, 199u, 6u}) EXPECT_EQ(take(), cell);
}

TEST_F(quarantine, the_oldest_rests_no_longer_when_it_is_full) {
  for (std::uint32_t cell = 0; cell <= ashlar::detail::quarantine::most; ++cell) free(cell);
  EXPECT_FALSE(slab_->resting()[0]);
  for (std::uint32_t cell = 1; cell <= ashlar::detail::quarantine::most; ++cell) EXPECT_TRUE(slab_->resting()[cell]);
  EXPECT_EQ(take(), 0u);
}

TEST_F(quarantine, a_cell_that_was_taken_may_die_again) {
  free(9);
  EXPECT_EQ(take(), 9u);
  EXPECT_FALSE(slab_->resting()[9]);
  free(1);
  free(9);
  EXPECT_EQ(take(), 1u);
  EXPECT_EQ(take(), 9u);
}

TEST_F(quarantine, a_slab_that_goes_is_forgotten) {
  free(7);
  resting_.forget(slab_);
  resting_.clear();
  EXPECT_TRUE(slab_->resting()[7]) << "memory of a slab that is gone is not written to";
}

TEST_F(quarantine, nothing_rests_after_it_is_cleared) {
  free(7);
  free(100);
  resting_.clear();
  EXPECT_FALSE(slab_->resting()[7] || slab_->resting()[100]);
}

}  // namespace
