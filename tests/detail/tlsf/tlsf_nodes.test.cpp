// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of numbered records: they never move, are reused, and end at their limit.
#include <ashlar/detail/tlsf/tlsf_nodes.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar_test::counting_resource;
using nodes = ashlar::detail::tlsf_nodes_in_chunks<std::uint32_t, ashlar::resource_ref<counting_resource<>>>;

ashlar::detail::tlsf_node<std::uint32_t> live_at(std::uint32_t offset) {
  return {offset, 1, nodes::none, nodes::none, nodes::none, nodes::none, ashlar::detail::tlsf_node_state::live};
}

TEST(tlsf_nodes, stay_where_they_are_while_others_come) {
  counting_resource<> upstream;
  nodes records(ashlar::detail::max_size, upstream);
  std::vector<ashlar::detail::tlsf_node<std::uint32_t>*> places;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(records.try_ensure(1));
    ASSERT_EQ(records.make(live_at(i)), i);
    places.push_back(&records.at(i));
  }
  for (std::uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(&records.at(i), places[i]);
    EXPECT_EQ(records.at(i).offset, i);
  }
  EXPECT_EQ(upstream.allocations(), 5u);  // 64 + 128 + 256 + 512 = 960 records
}

TEST(tlsf_nodes, are_used_again_the_last_first) {
  counting_resource<> upstream;
  nodes records(ashlar::detail::max_size, upstream);
  records.ensure(3);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(records.make(live_at(i)), i);
  records.drop(0);
  records.drop(2);
  EXPECT_EQ(records.in_use(), 1u);
  EXPECT_EQ(records.at(2).state, ashlar::detail::tlsf_node_state::spare);
  EXPECT_EQ(records.make(live_at(7)), 2u);
  EXPECT_EQ(records.make(live_at(8)), 0u);
  EXPECT_EQ(records.make(live_at(9)), 3u);
  EXPECT_TRUE(records.has(3) && !records.has(4));
}

TEST(tlsf_nodes, end_at_their_bound_and_begin_again) {
  counting_resource<> upstream;
  nodes records(100, upstream);
  for (int round = 0; round < 2; ++round) {
    records.ensure(1000);  // up to the limit
    EXPECT_EQ(records.ready(), 100u);
    EXPECT_FALSE(records.try_ensure(101));
    EXPECT_EQ(upstream.balance().bytes, 100 * sizeof(ashlar::detail::tlsf_node<std::uint32_t>));
    records.release();
    EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
  }
}

}  // namespace
