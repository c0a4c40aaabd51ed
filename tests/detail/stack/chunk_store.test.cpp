// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of an arena's chunks.
#include <cstddef>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/detail/stack/chunk.hpp>
#include <ashlar/detail/stack/chunk_store.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::detail::chunk;
using ashlar_test::counting_resource;
using store = ashlar::detail::chunk_store<ashlar::resource_ref<counting_resource<>>>;

struct chunk_stores : ::testing::Test {
  counting_resource<> upstream;
  std::vector<chunk*> in_use;

  void take(store& from, std::size_t bytes) { in_use.push_back(from.try_take(bytes, 8)); }
  void give_back(store& to) {
    for (chunk* const each : in_use) to.keep(each);
    in_use.clear();
    to.release();
  }
};

TEST_F(chunk_stores, grow_by_half_up_to_the_largest_step_and_are_as_large_as_a_block_needs) {
  store s({.initial_bytes = 1024, .max_growth_bytes = 4096}, upstream);
  EXPECT_EQ(s.held(), 0u);
  for (int i = 0; i < 4; ++i) take(s, 100);
  take(s, 100'000);
  take(s, 1);
  const std::size_t expected[] = {1024, 1536, 2304, 3456, chunk::bytes_for(100'000), 4096};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(in_use[i]->bytes, expected[i]);
  EXPECT_EQ(s.count(), 6u);
  EXPECT_EQ(s.held(), upstream.balance().bytes);
  give_back(s);
  EXPECT_EQ(s.held(), 0u);
  take(s, 1);
  EXPECT_EQ(in_use[0]->bytes, 1024u);  // the initial size
  give_back(s);
}

TEST_F(chunk_stores, hand_a_spare_one_out_before_they_ask) {
  store s({.initial_bytes = 1024}, upstream);
  take(s, 100), take(s, 1500);
  s.keep(in_use[0]), s.keep(in_use[1]);
  const std::size_t asked = upstream.allocations();
  EXPECT_EQ(s.try_take(1500, 8), in_use[1]);
  EXPECT_EQ(s.take(100, 8), in_use[0]);
  EXPECT_FALSE(s.has_spares());
  EXPECT_EQ(upstream.allocations(), asked);
  give_back(s);
}

TEST_F(chunk_stores, become_one_that_holds_as_much) {
  store s({.initial_bytes = 1024}, upstream);
  for (int i = 0; i < 3; ++i) take(s, 100);
  const std::size_t held = s.held();
  for (chunk* const each : in_use) s.keep(each);
  in_use.clear();
  s.consolidate();
  EXPECT_EQ(s.count(), 1u);
  EXPECT_EQ(s.held(), held);
  s.consolidate();
  EXPECT_EQ(upstream.allocations(), 4u);
  s.release();
}

TEST_F(chunk_stores, try_again_later_where_the_upstream_refuses_to_make_them_one) {
  store s({.initial_bytes = 1024, .max_growth_bytes = 2048}, upstream);
  for (int i = 0; i < 3; ++i) take(s, 100);
  for (chunk* const each : in_use) s.keep(each);
  in_use.clear();
  const std::size_t held = s.held();
  upstream.fail_at(0);
  s.consolidate();
  EXPECT_EQ(s.held(), 0u);
  take(s, 1);
  EXPECT_EQ(in_use[0]->bytes, held);
  take(s, 1);
  EXPECT_EQ(in_use[1]->bytes, 2048u);  // the maximum
  give_back(s);
}

TEST_F(chunk_stores, ask_for_less_where_the_upstream_refuses_much) {
  store s({.initial_bytes = 64 * 1024}, upstream);
  upstream.limit_bytes(5000);
  take(s, 100);
  ASSERT_NE(in_use[0], nullptr);
  EXPECT_EQ(in_use[0]->bytes, 4096u);
  take(s, 800);
  ASSERT_NE(in_use[1], nullptr);
  EXPECT_EQ(in_use[1]->bytes, chunk::bytes_for(800));
  EXPECT_EQ(s.try_take(800, 8), nullptr);
  give_back(s);
}

TEST_F(chunk_stores, hold_no_more_than_the_limit_and_give_spare_ones_back_for_room) {
  store s({.initial_bytes = 1024, .max_bytes = 4096}, upstream);
  take(s, 100), take(s, 100);
  EXPECT_EQ(s.try_take(2000, 8), nullptr);  // 1024 are left
  take(s, 900);
  EXPECT_EQ(s.held(), 4096u);
  EXPECT_EQ(s.try_take(1, 8), nullptr);
  s.keep(in_use[0]), s.keep(in_use[2]);
  in_use = {in_use[1]};
  take(s, 2000);
  ASSERT_NE(in_use[1], nullptr);
  EXPECT_LE(s.held(), 4096u);
#if defined(__cpp_exceptions)
  const std::size_t asked = upstream.allocations() + upstream.refusals();
  EXPECT_THROW(static_cast<void>(s.take(600, 8)), std::bad_alloc);
  EXPECT_EQ(upstream.allocations() + upstream.refusals(), asked);
#endif
  give_back(s);
}

TEST_F(chunk_stores, refuse_sizes_whose_sums_would_wrap) {
  store s({.initial_bytes = 1024}, upstream);
  for (std::size_t less = 0; less < 100; ++less)
    for (const std::size_t alignment : {std::size_t{1}, std::size_t{4096}}) {
      EXPECT_EQ(s.try_take(ashlar::detail::max_size - less, alignment), nullptr);
      EXPECT_EQ(s.try_take(ashlar::detail::max_block_bytes - less, alignment), nullptr);
    }
  EXPECT_EQ(s.try_take(1, ~(ashlar::detail::max_size >> 1)), nullptr);
  EXPECT_EQ(s.held(), 0u);
}

#if defined(__cpp_exceptions)
TEST_F(chunk_stores, let_the_last_exception_of_the_upstream_through) {
  store s({.initial_bytes = 4096}, upstream);
  upstream.fail_from(0);
  EXPECT_THROW(static_cast<void>(s.take(100, 8)), ashlar_test::injected_failure);
  EXPECT_EQ(s.held(), 0u);
}
#endif

}  // namespace
