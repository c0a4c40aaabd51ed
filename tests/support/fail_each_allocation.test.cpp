// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that failing each allocation finds objects that leak, lie or stay broken, and passes the others.
#include "tests/support/fail_each_allocation.hpp"

#include <cstddef>

#include <gtest/gtest.h>

#include "tests/support/counting_resource.hpp"
#include "tests/support/failures_of.hpp"
#include "tests/support/live_blocks.hpp"

namespace {

using ashlar_test::counting_resource;
using ashlar_test::fail_each_allocation;
using ashlar_test::failures_of;
using ashlar_test::live_blocks;

using shared = ashlar::resource_ref<counting_resource<>>;

const auto make_ref = [](counting_resource<>& upstream) { return shared(upstream); };

bool three_blocks(shared& r) {
  live_blocks blocks(r);
  return blocks.try_allocate(8, 8) && blocks.try_allocate(16, 16) && blocks.try_allocate(32, 32);
}

bool three_blocks_with_a_leak(shared& r) {
  void* const a = r.try_allocate(8, 8);
  void* const b = a != nullptr ? r.try_allocate(8, 8) : nullptr;
  if (b == nullptr) return false;
  r.deallocate(a, 8, 8);
  r.deallocate(b, 8, 8);
  return true;
}

/// Never works again after one failure.
struct sulking {
  shared upstream;
  bool hurt = false;
  bool work() { return !(hurt = hurt || !three_blocks(upstream)); }
};

TEST(fail_each_allocation, passes_a_scenario_that_cleans_up) {
  std::size_t runs = 0;
  fail_each_allocation(make_ref, [&](shared& r) {
    ++runs;
    return three_blocks(r);
  });
  EXPECT_EQ(runs, 2u * 2u * 4u);  // two ways to fail, each run followed by a good one, k = 0..3
}

TEST(fail_each_allocation, passes_a_scenario_that_throws) {
  fail_each_allocation(make_ref, [](shared& r) {
    live_blocks blocks(r);
    blocks.allocate(8, 8);
    blocks.allocate(16, 16);
  });
}

TEST(fail_each_allocation, finds_a_leak) {
  EXPECT_NE(failures_of([] { fail_each_allocation(make_ref, three_blocks_with_a_leak); }).find("leaked 1 blocks"),
            std::string::npos);
}

TEST(fail_each_allocation, finds_an_object_that_stays_broken) {
  const auto make = [](counting_resource<>& upstream) { return sulking{upstream}; };
  EXPECT_NE(failures_of([&] { fail_each_allocation(make, [](sulking& s) { return s.work(); }); }).find("not usable"),
            std::string::npos);
}

TEST(fail_each_allocation, finds_a_scenario_that_does_not_allocate) {
  EXPECT_FALSE(failures_of([] { fail_each_allocation(make_ref, [](shared&) { return true; }); }).empty());
}

}  // namespace
