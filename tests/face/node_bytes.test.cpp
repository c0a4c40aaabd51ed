// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that node_bytes is the size that the containers of this standard library ask for, and that a pool of such cells
// serves each node.
#include <ashlar/face/node_bytes.hpp>

#include <cstddef>
#include <list>
#include <memory_resource>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>

#include "tests/face/asked_nodes.hpp"

namespace {

using ashlar::node_bytes;

static_assert(node_bytes<std::pmr::list<int>> == node_bytes<std::list<int>>);

// The shape of the node handles of Microsoft's library.
template <class Node, class Allocator, template <class...> class Access, class... Types>
class handle_of_node;
template <class...>
struct access_of_node;
struct map_like {
  using node_type = handle_of_node<std::string, int, access_of_node, int, long>;
};
static_assert(node_bytes<map_like> == sizeof(std::string));

TEST(node_bytes, is_what_every_container_asks_for) {
  const auto expect = [](const char* container, std::size_t told, std::size_t asked) {
    EXPECT_EQ(told, asked) << container;
  };
  ashlar_test::compare_nodes_of<char>(expect);
  ashlar_test::compare_nodes_of<int>(expect);
  ashlar_test::compare_nodes_of<double>(expect);
  ashlar_test::compare_nodes_of<long double>(expect);
  ashlar_test::compare_nodes_of<std::string>(expect);
}

TEST(node_bytes, gives_a_pool_whose_cells_hold_all_nodes) {
  ashlar::fixed_block_pool<node_bytes<std::list<std::string>>> nodes;
  std::list<std::string, ashlar::allocator<std::string, decltype(nodes)>> words({"one", "two", "three"}, nodes);
  EXPECT_EQ(nodes.live(), 3u);
  EXPECT_EQ(nodes.outsized_blocks(), 0u);
}

}  // namespace
