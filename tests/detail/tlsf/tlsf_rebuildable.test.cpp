// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the blocks that are rebuilt from their sizes: after any other word of their headers is lost.
#include <ashlar/detail/tlsf/tlsf_rebuildable.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

using space = ashlar::detail::tlsf_rebuildable<ashlar::detail::no_steps>;
using link = space::link;

constexpr link units = 1024;

class tlsf_rebuildable_test : public ::testing::Test {
protected:
  alignas(16) std::array<std::byte, units * space::unit> memory_{};
  space::links all_{memory_.data()};
  space blocks_{all_, 1, units};
};

TEST_F(tlsf_rebuildable_test, hands_out_and_joins_all) {
  const link whole = blocks_.largest_free(all_);
  std::mt19937 random(7);
  const auto below = [&](link n) { return std::uniform_int_distribution<link>(0, n - 1)(random); };
  std::vector<link> live;
  for (int step = 0; step < 5000; ++step) {
    if (below(2) == 0 || live.empty()) {
      const link got = blocks_.allocate(all_, 2 + below(20), link{1} << below(4), 9);
      if (got != space::none) live.push_back(got);
    } else {
      std::swap(live[below(static_cast<link>(live.size()))], live.back());
      if (below(3) == 0) static_cast<void>(blocks_.try_expand(all_, live.back(), 2 + below(20)));
      else blocks_.deallocate(all_, live.back()), live.pop_back();
    }
    ASSERT_TRUE(blocks_.invariant(all_)) << step;
    ASSERT_EQ(blocks_.live(), live.size());
  }
  for (const link each : live) blocks_.deallocate(all_, each);
  EXPECT_EQ(blocks_.largest_free(all_), whole);
  EXPECT_EQ(blocks_.used(), 0u);
}

TEST_F(tlsf_rebuildable_test, rebuilds_all_but_the_sizes) {
  std::vector<link> live;
  for (link i = 0; i < 40; ++i) live.push_back(blocks_.allocate(all_, 2 + i % 7, 1, i));
  for (std::size_t i = 0; i < live.size(); i += 2) blocks_.deallocate(all_, live[i]);
  const link used = blocks_.used();
  blocks_.for_each_block(all_, [&](link block) {
    all_.at(block).front = all_.at(block).previous_or_mark = 0xDEAD'BEEF;
    if (all_.is_free(block)) all_.at(block).next_or_owner = 0xDEAD'BEEF;
    return true;
  });
  EXPECT_FALSE(blocks_.invariant(all_));
  EXPECT_TRUE(blocks_.rebuild(all_));
  EXPECT_TRUE(blocks_.invariant(all_));
  EXPECT_EQ(blocks_.used(), used);
  EXPECT_EQ(all_.at(live[1]).next_or_owner, 1u);
}

TEST_F(tlsf_rebuildable_test, refuses_sizes_that_do_not_lead_to_the_end) {
  const link block = blocks_.allocate(all_, 5, 1, 0);
  for (const std::uint32_t bad : {0u, units, space::header::live_bit, ~0u}) {
    all_.at(block).size_and_state = bad;
    EXPECT_FALSE(blocks_.rebuild(all_));
    EXPECT_EQ(blocks_.allocate(all_, 2, 1, 0), space::none);
  }
}

}  // namespace
