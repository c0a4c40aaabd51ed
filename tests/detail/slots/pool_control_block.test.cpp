// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that all memory goes back, with a call for each slab, whichever owner is the last.
#include <ashlar/detail/slots/pool_control_block.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/face/object_pool_options.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/slot_user.hpp"

namespace {

using ashlar::any_thread;
using ashlar::one_thread;
using ashlar_test::give_back;
using ashlar_test::nothing;
using ashlar_test::plain_ends;
using ashlar_test::test_slots;

template <class Threads>
class pool_control_block : public ::testing::Test {};
using policies = ::testing::Types<one_thread, any_thread<>>;
TYPED_TEST_SUITE(pool_control_block, policies);

TYPED_TEST(pool_control_block, tells_each_slab_and_gives_all_back) {
  ashlar_test::counting_resource<> upstream;
  for (const bool is_handle_first : {false, true}) {
    using slots_type = test_slots<TypeParam, 130 * 1024>;  // one for each slab; more than the directory holds itself
    std::optional<slots_type> slots;
    slots.emplace(ashlar::object_pool_options{}, upstream);
    std::vector<typename slots_type::place> taken(70);
    for (auto& each : taken) each = slots->take();
    const std::size_t before = plain_ends<TypeParam>::slabs;
    if (is_handle_first) slots.reset();
    for (const auto& each : taken) give_back(each);
    if (!is_handle_first) slots.reset();
    EXPECT_EQ(plain_ends<TypeParam>::slabs - before, 70u);
    EXPECT_EQ(upstream.balance(), nothing);
  }
}

// An upstream that is owned, and moves from the handle to the last object.
struct moving_upstream {
  explicit moving_upstream(int* ends) : ends_(ends) {}
  moving_upstream(moving_upstream&& other) noexcept : ends_(std::exchange(other.ends_, nullptr)) {}
  moving_upstream& operator=(moving_upstream&&) = delete;
  ~moving_upstream() {
    if (ends_ != nullptr) ++*ends_;
  }
  void* allocate(std::size_t bytes, std::size_t alignment) { return memory_.allocate(bytes, alignment); }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    EXPECT_NE(ends_, nullptr) << "an upstream that was moved from";
    memory_.deallocate(p, bytes, alignment);
  }
  [[maybe_unused]] friend bool operator==(const moving_upstream& a, const moving_upstream& b) noexcept {
    return &a == &b;
  }

private:
  int* ends_;
  ashlar::new_delete_resource memory_;
};

TYPED_TEST(pool_control_block, takes_an_owned_upstream_along) {
  using slots_type = ashlar::detail::slot_slabs<ashlar::detail::slot_layout<TypeParam, 64, 8, false>, TypeParam,
                                                moving_upstream, plain_ends<TypeParam>>;
  int ends = 0;
  std::optional<slots_type> slots;
  slots.emplace(ashlar::object_pool_options{}, moving_upstream(&ends));
  const auto at = slots->take();
  slots.reset();
  EXPECT_EQ(ends, 0);
  give_back(at);
  EXPECT_EQ(ends, 1);
}

}  // namespace
