// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the limiting adaptor: charges of every call, failures of either side, release, and threads.
#include <ashlar/adaptor/limiting.hpp>

#include <cstddef>
#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/budget.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/adaptor/roomy.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::budget;
using ashlar::limiting;
using ashlar::new_delete_resource;
using ashlar::resource_ref;
using ashlar::shared_budget;
using ashlar_test::counting_resource;
using counted = resource_ref<counting_resource<>>;

static_assert(ashlar::thread_safe_resource<limiting<new_delete_resource, shared_budget>>);
static_assert(!ashlar::thread_safe_resource<limiting<resource_ref<ashlar::buffer_resource>, shared_budget>>);
// A pointer to the budget, and the bytes charged.
static_assert(sizeof(limiting<new_delete_resource>) == 2 * sizeof(void*));

struct tight : ashlar_test::conformance_defaults {
  static constexpr bool bounded = true;
  budget limits{5000};
  limiting<new_delete_resource> resource{limits};
};

TEST(limiting, charges_what_is_requested_and_takes_it_back) {
  budget limits(100);
  limiting<new_delete_resource> r(limits);
  void* const p = r.allocate(60, 8);
  EXPECT_EQ(limits.used(), 60U);
  EXPECT_EQ(r.try_allocate(41, 1), nullptr);
  void* const q = r.try_allocate(40, 8);
  EXPECT_NE(q, nullptr);
  EXPECT_EQ(r.charged(), 100U);
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(r.allocate(1, 1)), std::bad_alloc);
#endif
  r.deallocate(q, 40, 8);
  r.deallocate(p, 60, 8);
  EXPECT_EQ(limits.used(), 0U);
  EXPECT_EQ(limits.peak(), 100U);
  EXPECT_TRUE(r.invariant());
}

TEST(limiting, a_refused_request_never_reaches_the_upstream_and_a_failed_one_is_not_charged) {
  counting_resource<> upstream;
  budget limits(100);
  limiting<counted> r(limits, upstream);
  EXPECT_EQ(r.try_allocate(101, 8), nullptr);
  EXPECT_EQ(upstream.allocations() + upstream.refusals(), 0U);
  upstream.fail_at(0);
  EXPECT_EQ(r.try_allocate(50, 8), nullptr);
  EXPECT_EQ(limits.used(), 0U);
#if defined(__cpp_exceptions)
  upstream.fail_at(0);
  EXPECT_THROW(static_cast<void>(r.allocate(50, 8)), ashlar_test::injected_failure);
  EXPECT_EQ(limits.used(), 0U);
#endif
}

TEST(limiting, a_block_that_grows_is_charged_for_what_it_grows) {
  budget limits(500);
  limiting<ashlar_test::roomy> r(limits);
  void* const p = r.allocate(100, 8);
  EXPECT_TRUE(r.try_expand(p, 100, 400, 8));
  EXPECT_EQ(limits.used(), 400U);
  EXPECT_FALSE(r.try_expand(p, 400, 501, 8)) << "the budget refuses";
  limits.set_max_bytes(budget::unlimited);
  EXPECT_FALSE(r.try_expand(p, 400, 2000, 8)) << "the upstream refuses";
  EXPECT_EQ(limits.used(), 400U);
  EXPECT_TRUE(r.try_expand(p, 400, 50, 8));
  EXPECT_EQ(limits.used(), 50U);
  r.deallocate(p, 50, 8);
}

TEST(limiting, a_block_may_shrink_where_the_limit_was_lowered_below_what_is_used) {
  budget limits(1000);
  limiting<ashlar_test::roomy> memory(limits);
  void* const p = memory.allocate(100, 8);
  limits.set_max_bytes(50);
  EXPECT_FALSE(memory.try_expand(p, 100, 101, 8));
  EXPECT_TRUE(memory.try_expand(p, 100, 60, 8)) << "nothing is added";
  EXPECT_EQ(limits.used(), 60U);
  memory.deallocate(p, 60, 8);
  EXPECT_EQ(limits.used(), 0U);
}

TEST(limiting, release_and_the_end_take_back_everything) {
  budget limits(1000);
  ashlar::inline_buffer<1024> buffer;
  {
    limiting<resource_ref<ashlar::buffer_resource>> r(limits, resource_ref<ashlar::buffer_resource>(buffer));
    static_cast<void>(r.allocate(500, 8));
    r.release();
    EXPECT_EQ(limits.used(), 0U);
    static_cast<void>(r.allocate(300, 8));
  }
  EXPECT_EQ(limits.used(), 0U);
}

// A cache that frees its memory when a budget demands it.
struct cache {
  limiting<new_delete_resource>& memory;
  std::vector<void*> blocks;

  static budget::answer shrink(const budget::refusal&, void* context) noexcept {
    auto& self = *static_cast<cache*>(context);
    if (self.blocks.empty()) return budget::answer::give_up;
    self.memory.deallocate(self.blocks.back(), 100, 8);
    self.blocks.pop_back();
    return budget::answer::retry;
  }
};

TEST(limiting, a_handler_may_free_through_the_very_adaptor) {
  budget limits(1000);
  limiting<new_delete_resource> r(limits);
  cache c{r, {}};
  for (int i = 0; i < 10; ++i) c.blocks.push_back(r.allocate(100, 8));
  limits.on_exceeded(&cache::shrink, &c);
  void* const p = r.allocate(250, 8);
  EXPECT_EQ(c.blocks.size(), 7U);
  EXPECT_EQ(limits.used(), 950U);
  r.deallocate(p, 250, 8);
  EXPECT_EQ(r.try_allocate(1001, 8), nullptr);
  EXPECT_TRUE(c.blocks.empty());
}

const bool tested = ashlar_test::conforms("limiting_to_little", ::testing::Types<tight>{});

}  // namespace
