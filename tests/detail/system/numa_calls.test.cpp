// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of sets of nodes, and of the calls that place pages, on the machine as it is.
#include <ashlar/detail/system/numa_calls.hpp>

#include <cerrno>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/os/pages.hpp>

namespace {

using ashlar::detail::numa_calls;
using ashlar::detail::numa_nodes;
using ashlar::detail::numa_policy;
using ashlar::os::pages;

TEST(numa_nodes, has_what_was_added) {
  numa_nodes nodes;
  EXPECT_EQ(nodes.count(), 0u);
  for (const std::size_t node : {std::size_t{0}, std::size_t{63}, std::size_t{64}, numa_nodes::most - 1}) {
    EXPECT_FALSE(nodes.has(node));
    nodes.add(node);
    EXPECT_TRUE(nodes.has(node));
  }
  EXPECT_EQ(nodes.count(), 4u);
  EXPECT_FALSE(nodes.has(numa_nodes::most));
}

TEST(numa_calls, places_pages_on_an_allowed_node_and_on_no_other) {
  const numa_nodes allowed = numa_calls::allowed();
  if (allowed.count() == 0) GTEST_SKIP() << "this system does not tell its nodes";
  const std::size_t bytes = pages::round_up(1);
  void* const p = pages::map(bytes, 1);
  errno = 12345;
  EXPECT_TRUE(numa_calls::place(p, bytes, numa_policy::interleaved, allowed));
  numa_nodes one;
  std::size_t node = 0;
  while (!allowed.has(node)) ++node;
  one.add(node);
  EXPECT_TRUE(numa_calls::place(p, bytes, numa_policy::preferred, one));
  numa_nodes none;
  none.add(numa_nodes::most - 1);
  EXPECT_FALSE(numa_calls::place(p, bytes, numa_policy::preferred, none));
  EXPECT_EQ(errno, 12345);
  static_cast<unsigned char*>(p)[0] = 1;
  pages::release(p, bytes);
}

}  // namespace
