// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the resource that chooses the memory of its pages: which calls it makes, and that it lives without them.
#include <ashlar/resource/numa_resource.hpp>

#include <cstddef>

#include <gtest/gtest.h>

#include "tests/support/conformance.hpp"

namespace {

using ashlar::detail::numa_nodes;
using ashlar::detail::numa_policy;

struct pages_in_turn : ashlar_test::conformance_defaults {
  static constexpr std::size_t largest = 10'000;
  static constexpr std::size_t most_live = 20;
  static constexpr std::size_t churn_steps = 300;
  static constexpr bool exhaustible = false;
  ashlar::numa_resource resource;
};
struct pages_of_a_node : pages_in_turn {
  pages_of_a_node() { resource = ashlar::numa_resource(ashlar::numa_node{0}); }
};
struct pages_of_no_node : pages_in_turn {
  pages_of_no_node() { resource = ashlar::numa_resource(ashlar::numa_node{numa_nodes::most}); }
};

const bool tested = ashlar_test::conforms<pages_in_turn, pages_of_a_node, pages_of_no_node>("numa_resource");

// A machine with the nodes 1 and 3.
struct two_memories {
  static inline std::size_t calls = 0;
  static inline std::size_t bytes = 0;
  static inline numa_policy policy{};
  static inline numa_nodes nodes{};

  static numa_nodes allowed() noexcept {
    numa_nodes both;
    both.add(1);
    both.add(3);
    return both;
  }
  static bool place(void*, std::size_t size, numa_policy wanted, const numa_nodes& on) noexcept {
    ++calls;
    bytes = size;
    policy = wanted;
    nodes = on;
    return false;  // refused: the block is handed out all the same
  }
};

// A system that does not tell.
struct one_memory : two_memories {
  static numa_nodes allowed() noexcept { return {}; }
};

template <class Calls>
using resource_on = ashlar::basic_numa_resource<ashlar::page_resource, Calls>;

TEST(numa_resource, spreads_pages_over_all_nodes) {
  two_memories::calls = 0;
  resource_on<two_memories> pages;
  void* const p = pages.allocate(10'000, 64);
  EXPECT_EQ(two_memories::calls, 1u);
  EXPECT_EQ(two_memories::bytes, 10'000u);
  EXPECT_EQ(two_memories::policy, numa_policy::interleaved);
  EXPECT_TRUE(two_memories::nodes.has(1) && two_memories::nodes.has(3));
  EXPECT_EQ(two_memories::nodes.count(), 2u);
  pages.deallocate(p, 10'000, 64);
}

TEST(numa_resource, prefers_one_node) {
  resource_on<two_memories> pages(ashlar::numa_node{3});
  void* const p = pages.allocate(1, 1);
  EXPECT_EQ(two_memories::policy, numa_policy::preferred);
  EXPECT_TRUE(two_memories::nodes.has(3));
  EXPECT_EQ(two_memories::nodes.count(), 1u);
  resource_on<two_memories>().deallocate(p, 1, 1);  // any instance releases it
  EXPECT_EQ(pages, resource_on<two_memories>());
}

TEST(numa_resource, makes_no_call_where_there_is_nothing_to_choose) {
  two_memories::calls = 0;
  resource_on<one_memory> unknown;
  unknown.deallocate(unknown.allocate(1, 1), 1, 1);
  resource_on<two_memories> beyond(ashlar::numa_node{numa_nodes::most});
  beyond.deallocate(beyond.allocate(1, 1), 1, 1);
  EXPECT_EQ(two_memories::calls, 0u);
}

TEST(numa_resource, counts_the_nodes) {
  EXPECT_EQ(resource_on<two_memories>::node_count(), 2u);
  EXPECT_EQ(resource_on<one_memory>::node_count(), 1u);
  EXPECT_GE(ashlar::numa_resource::node_count(), 1u);
}

}  // namespace
