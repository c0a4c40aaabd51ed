// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the segregator: the border is exact, and no block moves across it.
#include <cstddef>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/adaptor/segregator.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>

#include "tests/support/able_resource.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/skills.hpp"

namespace {

using namespace ashlar_test;
using ashlar::fixed_threshold;
using ashlar::new_delete_resource;
using ashlar::null_resource;
using ashlar::resource_ref;
using ashlar::segregator;
using ashlar::threshold;

// Small is exactly the size of one type: not monotone.
struct exactly_48 {
  bool is_small(std::size_t bytes, std::size_t) const noexcept { return bytes == 48; }
  friend bool operator==(const exactly_48&, const exactly_48&) noexcept = default;
};
static_assert(ashlar::policy::segregation<exactly_48> && !ashlar::policy::monotone_segregation<exactly_48>);
static_assert(ashlar::policy::monotone_segregation<threshold> &&
              ashlar::policy::monotone_segregation<fixed_threshold<8>>);

// The table of the header.
template <class Rule>
constexpr skills expected_of(skills small, skills large) {
  const skills both = can_try | can_own | can_release | can_share;
  const skills one = can_expand | (ashlar::policy::monotone_segregation<Rule> ? can_at_least : 0);
  return (small & large & both) | ((small | large) & one);
}

template <skills Small, skills Large, class Rule = threshold>
constexpr bool has_what_it_should =
    skills_of<segregator<skilled<Small>, skilled<Large>, Rule>> == expected_of<Rule>(Small, Large);

template <skills... Each>
constexpr bool have_what_they_should = ((has_what_it_should<Each, Each> && has_what_it_should<Each, 0> &&
                                         has_what_it_should<0, Each> && has_what_it_should<every_skill, Each>) &&
                                        ...);

static_assert(have_what_they_should<0, can_try, can_own, can_release, can_describe, can_expand, can_prefault,
                                    can_at_least, can_share, can_divide, every_skill>);
static_assert(has_what_it_should<every_skill, every_skill, exactly_48>);

// An empty rule costs nothing: a segregator is as large as its members with state.
using cells = ashlar::block_pool<resource_ref<counting_resource<>>>;
static_assert(sizeof(segregator<cells, new_delete_resource, fixed_threshold<64>>) == sizeof(cells));
static_assert(sizeof(segregator<null_resource, new_delete_resource, fixed_threshold<64>>) == 1);
static_assert(sizeof(segregator<resource_ref<cells>, resource_ref<cells>, fixed_threshold<64>>) == 2 * sizeof(void*));
static_assert(sizeof(segregator<null_resource, new_delete_resource>) == sizeof(threshold));

// Without state of its own it is process-wide if its sides are.
static_assert(ashlar::process_wide_resource<segregator<null_resource, new_delete_resource, fixed_threshold<64>>>);
static_assert(!ashlar::process_wide_resource<segregator<null_resource, new_delete_resource>>);
static_assert(!ashlar::process_wide_resource<segregator<skilled<0>, new_delete_resource, fixed_threshold<64>>>);

static_assert(threshold{64}.is_small(64, 4096) && !threshold{64}.is_small(65, 1));
static_assert(threshold{64, 16}.is_small(64, 16) && !threshold{64, 16}.is_small(1, 32));
static_assert(fixed_threshold<64, 16>().is_small(64, 16) && !fixed_threshold<64, 16>().is_small(1, 32));
static_assert(fixed_threshold<0>().is_small(0, 1) && !fixed_threshold<0>().is_small(1, 1));

TEST(segregator, routes_by_size_and_alignment_there_and_back) {
  counting_resource<> small;
  counting_resource<> large;
  const auto walk = [&](auto& both, const auto& rule) {
    for (std::size_t bytes = 0; bytes < 200; ++bytes)
      for (std::size_t alignment = 1; alignment <= 128; alignment *= 2) {
        void* const p = both.allocate(bytes, alignment);
        const bool is_small = rule.is_small(bytes, alignment);
        ASSERT_EQ(small.balance().blocks, is_small ? 1U : 0U) << bytes << " at " << alignment;
        ASSERT_EQ(large.balance().blocks, is_small ? 0U : 1U) << bytes << " at " << alignment;
        both.deallocate(p, bytes, alignment);
      }
  };
  segregator by_size(threshold{64}, resource_ref{small}, resource_ref{large});
  walk(by_size, by_size.rule());
  segregator by_both(threshold{64, 16}, resource_ref{small}, resource_ref{large});
  walk(by_both, by_both.rule());
  segregator by_type(exactly_48(), resource_ref{small}, resource_ref{large});
  walk(by_type, by_type.rule());
}

TEST(segregator, no_block_grows_across_the_border) {
  counting_resource<> below;
  segregator<able_resource<>, able_resource<>> both(threshold{100}, below, below);
  void* const small = both.allocate(80, 1);
  EXPECT_TRUE(both.try_expand(small, 80, 100, 1));    // up to 128 bytes, as far as its resource permits,
  EXPECT_FALSE(both.try_expand(small, 100, 101, 1));  // but those belong to the other side
  both.deallocate(small, 100, 1);
  void* const large = both.allocate(120, 1);
  EXPECT_TRUE(both.try_expand(large, 120, 101, 1));
  EXPECT_FALSE(both.try_expand(large, 101, 100, 1));
  EXPECT_FALSE(both.try_expand(large, 101, ashlar::max_size, 1));
  both.deallocate(large, 101, 1);
  segregator<null_resource, able_resource<>> one(threshold{10}, null_resource(), below);
  EXPECT_FALSE(one.try_expand(&below, 1, 2, 1));
}

// A small block reported with a larger size would be freed as a large one.
TEST(segregator, no_block_is_said_to_be_larger_than_its_side_serves) {
  counting_resource<> below;
  segregator<able_resource<>, able_resource<>> both(threshold{100}, below, below);
  for (const auto& [bytes, got] : {std::pair{10U, 64U}, {64U, 64U}, {65U, 65U}, {100U, 100U}, {101U, 128U}}) {
    const ashlar::block block = both.allocate_at_least(bytes, 1);
    EXPECT_EQ(block.size, got);
    both.deallocate(block.data, block.size, 1);
  }
  EXPECT_EQ(both.small_side().live() + both.large_side().live(), 0U);
}

TEST(segregator, is_equal_where_sides_and_rule_are) {
  using plain = segregator<new_delete_resource, new_delete_resource>;
  EXPECT_TRUE(plain(threshold{64}) == plain(threshold{64}));
  EXPECT_FALSE(plain(threshold{64}) == plain(threshold{65}));
  EXPECT_TRUE(exactly_48() == exactly_48());
  ashlar::inline_buffer<64> a;
  ashlar::inline_buffer<64> b;
  using buffers = segregator<resource_ref<ashlar::buffer_resource>, new_delete_resource, fixed_threshold<8>>;
  EXPECT_TRUE(buffers({}, a, new_delete_resource()) == buffers({}, a, new_delete_resource()));
  EXPECT_FALSE(buffers({}, a, new_delete_resource()) == buffers({}, b, new_delete_resource()));
}

}  // namespace
