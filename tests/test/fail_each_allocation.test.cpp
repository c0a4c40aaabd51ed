// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the loop that fails each allocation of a scenario in turn.
#include <ashlar/test/fail_each_allocation.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/test/checking_allocator.hpp>
#include <ashlar/test/ledger.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::test::checking_allocator;
using ashlar::test::ledger;
using ashlar::test::problem;
using ashlar::test::problem_kind;

template <class Scenario>
concept can_fail_each = requires(Scenario s) { ashlar::test::fail_each_allocation(s); };
static_assert(can_fail_each<void (*)(ledger&)> == ashlar_test::has_exceptions);
static_assert(!can_fail_each<int>);

#if defined(__cpp_exceptions)

TEST(fail_each_allocation, goes_through_all_of_them) {
  int runs = 0;
  const std::size_t count = ashlar::test::fail_each_allocation([&](ledger& book) {
    ++runs;
    std::list<int, checking_allocator<int>> numbers{checking_allocator<int>(book)};
    for (int i = 0; i < 5; ++i) numbers.push_back(i);
  });
  EXPECT_EQ(count, 5u);
  EXPECT_EQ(runs, 2 * 5 + 1);
}

// Leaks its first block if the second allocation fails.
void leak_on_failure(ledger& book) {
  checking_allocator<int> a(book);
  int* const first = a.allocate(1);
  int* const second = a.allocate(1);
  a.deallocate(second, 1);
  a.deallocate(first, 1);
}

TEST(fail_each_allocation, tells_of_a_leak_on_the_way_out) {
  std::vector<problem> told;
  const auto note = [&](const problem& each) { told.push_back(each); };
  EXPECT_EQ(ashlar::test::fail_each_allocation(leak_on_failure, note), 2u);
  ASSERT_EQ(told.size(), 2u);  // one for "the second fails", one for "all from the second on"
  EXPECT_EQ(told[0].kind, problem_kind::leak);
}

TEST(fail_each_allocation, an_exception_of_the_scenario_itself_is_passed_on) {
  const auto throws = [](ledger&) { throw std::logic_error("mine"); };
  EXPECT_THROW(ashlar::test::fail_each_allocation(throws), std::logic_error);
}

TEST(fail_each_allocation, a_scenario_without_allocations_is_run_once) {
  int runs = 0;
  EXPECT_EQ(ashlar::test::fail_each_allocation([&](ledger&) { ++runs; }), 0u);
  EXPECT_EQ(runs, 1);
}

#endif

}  // namespace
