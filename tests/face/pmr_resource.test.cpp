// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the one virtual bridge: any resource as a std::pmr::memory_resource, and the reverse.
#include <cstddef>
#include <list>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::pmr_resource;
using ashlar::resource_ref;
using ashlar_test::counting_resource;
using pool_type = ashlar::block_pool<resource_ref<counting_resource<>>>;

#if defined(__cpp_rtti)
constexpr bool has_rtti = true;
#else
constexpr bool has_rtti = false;
#endif

static_assert(std::is_base_of_v<std::pmr::memory_resource, pmr_resource<pool_type>>);
static_assert(ashlar::resource<std::pmr::memory_resource> && !ashlar::try_resource<std::pmr::memory_resource>);
static_assert(ashlar::resource<pmr_resource<pool_type>>);

// Both ways at once: the standard's interface does not promise a noexcept free, the reference to it does.
struct bridge_to_operator_new : ashlar_test::conformance_defaults {
  static constexpr bool exhaustible = false;
  pmr_resource<ashlar::new_delete_resource> bridge;
  resource_ref<std::pmr::memory_resource> resource{bridge};
};

struct bridge_to_a_pool : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 16;
  static constexpr std::size_t largest = 64;
  static constexpr bool exhaustible = ashlar_test::has_exceptions;
  counting_resource<> upstream;
  pmr_resource<pool_type> bridge{ashlar::block_pool_options{.cell_bytes = 64, .slab_bytes = 4096},
                                 resource_ref<counting_resource<>>(upstream)};
  resource_ref<std::pmr::memory_resource> resource{bridge};
};

TEST(pmr_resource, a_pmr_resource_is_an_upstream_and_the_circle_closes) {
  std::pmr::monotonic_buffer_resource below;
  ashlar::block_pool<resource_ref<std::pmr::memory_resource>> pool({.cell_bytes = 24, .slab_bytes = 4096}, below);
  pmr_resource<resource_ref<decltype(pool)>> above(pool);
  {
    std::pmr::list<int> numbers(500, 1, &above);
    EXPECT_EQ(pool.live(), 500u);
  }
  EXPECT_EQ(pool.live(), 0u);
}

TEST(pmr_resource, an_allocator_may_stand_on_it) {
  counting_resource<> memory;
  pmr_resource<resource_ref<counting_resource<>>> bridge(memory);
  std::vector<int, ashlar::allocator<int, std::pmr::memory_resource>> numbers(bridge);
  numbers.assign(100, 1);
  EXPECT_EQ(&numbers.get_allocator().resource(), &bridge);
  EXPECT_EQ(memory.balance().bytes, 400u);
}

TEST(pmr_resource, two_bridges_are_equal_iff_their_resources_are) {
  counting_resource<> first;
  counting_resource<> second;
  using bridge_type = pmr_resource<resource_ref<counting_resource<>>>;
  const bridge_type a(first);
  const bridge_type also_a(first);
  const bridge_type b(second);
  const pmr_resource<ashlar::new_delete_resource> other_type;
  EXPECT_TRUE(a.is_equal(a));
  EXPECT_EQ(a.is_equal(also_a), has_rtti);  // without RTTI a bridge knows itself only
  EXPECT_FALSE(a.is_equal(b));
  EXPECT_FALSE(a.is_equal(other_type));
  EXPECT_FALSE(other_type.is_equal(a));
  EXPECT_FALSE(a.is_equal(*std::pmr::new_delete_resource()));
}

TEST(pmr_resource, failure_is_bad_alloc) {
#if defined(__cpp_exceptions)
  counting_resource<> memory;
  pmr_resource<resource_ref<counting_resource<>>> bridge(memory);
  memory.fail_from(0);
  EXPECT_THROW(static_cast<void>(bridge.allocate(1)), std::bad_alloc);
  pmr_resource<ashlar::inline_buffer<64>> small;
  EXPECT_THROW(static_cast<void>(small.allocate(65, 1)), std::bad_alloc);
  static_cast<void>(small.allocate(64, 1));
#endif
}

TEST(pmr_resource, a_copy_refers_to_the_same_resource_and_not_to_its_original) {
  counting_resource<> memory;
  pmr_resource<resource_ref<counting_resource<>>> counted(memory);
  pmr_resource<resource_ref<std::pmr::memory_resource>> original(static_cast<std::pmr::memory_resource&>(counted));
  const auto copy(original);
  EXPECT_EQ(&copy.resource().get(), &counted);
}

TEST(pmr_resource, costs_a_virtual_table_pointer) {
  EXPECT_EQ(sizeof(pmr_resource<ashlar::new_delete_resource>), sizeof(std::pmr::memory_resource));
  EXPECT_EQ(sizeof(pmr_resource<resource_ref<counting_resource<>>>), 2 * sizeof(void*));
}

}  // namespace

namespace ashlar_test {
using bridges = ::testing::Types<bridge_to_operator_new, bridge_to_a_pool>;
const bool tested = conforms("pmr_resource", bridges{});
}  // namespace ashlar_test
