// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the steps of the growth policies.
#include <ashlar/base/growth.hpp>

#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>

#include "tests/support/death.hpp"

namespace {

using ashlar::fixed_growth;
using ashlar::proportional_growth;
using ashlar::detail::expect_growth;

struct may_throw {
  [[nodiscard]] std::size_t next(std::size_t) const { return 1; }
};
struct wrong_type {
  [[nodiscard]] int next(std::size_t) const noexcept { return 1; }
};
static_assert(ashlar::policy::growth<fixed_growth> && ashlar::policy::growth<proportional_growth>);
static_assert(!ashlar::policy::growth<may_throw> && !ashlar::policy::growth<wrong_type>);

TEST(fixed_growth, always_takes_the_same_step) {
  for (const std::size_t held : {std::size_t{0}, std::size_t{1} << 20, ashlar::detail::max_size})
    EXPECT_EQ(fixed_growth{.step = 123}.next(held), 123u);
  EXPECT_EQ(fixed_growth{}.next(0), 64u * 1024);
}

TEST(proportional_growth, takes_a_share_between_two_bounds) {
  constexpr proportional_growth policy{.smallest = 10, .largest = 50, .divisor = 4};
  EXPECT_EQ(policy.next(0), 10u);
  EXPECT_EQ(policy.next(40), 10u);
  EXPECT_EQ(policy.next(44), 11u);
  EXPECT_EQ(policy.next(200), 50u);
  EXPECT_EQ(policy.next(ashlar::detail::max_size), 50u);
}

TEST(proportional_growth, wastes_no_more_than_its_share) {
  constexpr proportional_growth policy;
  std::size_t held = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t step = policy.next(held);
    ASSERT_LE(step, held / policy.divisor + policy.smallest);
    ASSERT_GE(step, policy.smallest);
    ASSERT_LE(step, policy.largest);
    ASSERT_GE(policy.next(held + step), step);
    held += step;
  }
}

TEST(proportional_growth, that_cannot_grow_is_refused) {
  expect_growth({.smallest = 10, .largest = 10, .divisor = 1});
  ASHLAR_EXPECT_DEATH(expect_growth({.divisor = 0}), "ashlar: precondition: the divisor of growth is 0");
  ASHLAR_EXPECT_DEATH(expect_growth({.smallest = 11, .largest = 10}),
                      "ashlar: precondition: the smallest step of growth is above its largest");
}

}  // namespace
