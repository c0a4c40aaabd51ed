// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the polymorphic pools and of the monotonic buffer side by side with the standard's: the same calls, the same
// promises; and of the one virtual bridge between any resource and std::pmr::memory_resource.
#include <array>
#include <cstddef>
#include <list>
#include <memory_resource>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pmr_monotonic.hpp>
#include <ashlar/face/pmr_pools.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::resource_ref;
using ashlar_test::counting_resource;
using ashlar_test::nothing;
using counted_bridge = ashlar::pmr_resource<resource_ref<counting_resource<>>>;
using std::pmr::memory_resource;
using std::pmr::pool_options;

[[nodiscard]] pool_options options_of(std::size_t blocks, std::size_t largest) {
  pool_options made;
  made.max_blocks_per_chunk = blocks;
  made.largest_required_pool_block = largest;
  return made;
}

// The common behaviour of all four, the standard's two and ours: these tests know no difference.
template <class Resource>
class pool_resource : public ::testing::Test {};

using all_resources =
    ::testing::Types<std::pmr::unsynchronized_pool_resource, std::pmr::synchronized_pool_resource,
                     ashlar::pmr::unsynchronized_pool_resource, ashlar::pmr::synchronized_pool_resource>;
TYPED_TEST_SUITE(pool_resource, all_resources);

TYPED_TEST(pool_resource, has_the_standards_constructors_and_members) {
  static_assert(std::is_base_of_v<memory_resource, TypeParam> && std::is_default_constructible_v<TypeParam>);
  static_assert(std::is_constructible_v<TypeParam, const pool_options&, memory_resource*>);
  static_assert(std::is_constructible_v<TypeParam, const pool_options&>);
  static_assert(std::is_constructible_v<TypeParam, memory_resource*>);
  static_assert(!std::is_convertible_v<memory_resource*, TypeParam>, "explicit");
  static_assert(!std::is_convertible_v<const pool_options&, TypeParam>, "explicit");
  static_assert(!std::is_copy_constructible_v<TypeParam> && !std::is_copy_assignable_v<TypeParam>);
  static_assert(std::has_virtual_destructor_v<TypeParam>);
  counting_resource<> books;
  counted_bridge upstream(books);
  const TypeParam with_both(options_of(10, 100), &upstream);
  EXPECT_EQ(with_both.upstream_resource(), &upstream);
  EXPECT_EQ(TypeParam(options_of(10, 100)).upstream_resource(), std::pmr::get_default_resource());
  memory_resource* const before = std::pmr::set_default_resource(&upstream);
  EXPECT_EQ(TypeParam().upstream_resource(), &upstream);
  std::pmr::set_default_resource(before);
  EXPECT_TRUE(with_both.is_equal(with_both));
  EXPECT_FALSE(with_both.is_equal(TypeParam(&upstream)));
}

struct unsynchronized_child : ashlar::pmr::unsynchronized_pool_resource {
  using unsynchronized_pool_resource::unsynchronized_pool_resource;
};
struct synchronized_child : ashlar::pmr::synchronized_pool_resource {
  using synchronized_pool_resource::synchronized_pool_resource;
};

TEST(pmr_pools, a_derived_class_names_their_constructors_as_the_standards) {
  const unsynchronized_child one(options_of(10, 100), std::pmr::new_delete_resource());
  const synchronized_child two(std::pmr::new_delete_resource());
  EXPECT_EQ(one.upstream_resource(), std::pmr::new_delete_resource());
  EXPECT_EQ(two.upstream_resource(), std::pmr::new_delete_resource());
  EXPECT_EQ(unsynchronized_child().upstream_resource(), std::pmr::get_default_resource());
}

TYPED_TEST(pool_resource, options_tell_what_is_in_force) {
  const pool_options defaults = TypeParam().options();
  EXPECT_GT(defaults.max_blocks_per_chunk, 0u);
  EXPECT_GT(defaults.largest_required_pool_block, 0u);
  const pool_options small = TypeParam(options_of(32, 100)).options();
  EXPECT_LE(small.max_blocks_per_chunk, 32u);
  EXPECT_GE(small.largest_required_pool_block, 100u);
  EXPECT_LT(small.largest_required_pool_block, 512u);
}

TYPED_TEST(pool_resource, blocks_beyond_the_largest_go_upstream_at_once_and_come_back_at_once) {
  counting_resource<> books;
  counted_bridge upstream(books);
  TypeParam pools(options_of(16, 256), &upstream);
  const std::size_t beyond = pools.options().largest_required_pool_block + 1;
  pools.deallocate(pools.allocate(beyond), beyond);  // its records may stay
  const std::size_t before = books.balance().bytes;
  void* const large = pools.allocate(beyond * 10, 64);
  EXPECT_GE(books.balance().bytes, before + beyond * 10);
  EXPECT_TRUE(ashlar::is_aligned(large, 64));
  pools.deallocate(large, beyond * 10, 64);
  EXPECT_LT(books.balance().bytes, before + beyond * 10);
}

// libstdc++ 12 takes the larger of size and alignment for the class, so that 100 bytes at 64 are not always aligned.
template <class Resource>
constexpr std::size_t most_alignment_of = std::is_same_v<Resource, std::pmr::unsynchronized_pool_resource> ||
                                                  std::is_same_v<Resource, std::pmr::synchronized_pool_resource>
                                              ? 16
                                              : 1024;

// Every upstream block goes back with its size and alignment: the record verifies that at its end, or at once.
TYPED_TEST(pool_resource, release_gives_everything_back_and_restores_the_initial_state) {
  counting_resource<> books;
  counted_bridge upstream(books);
  TypeParam pools(&upstream);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t bytes = 0; bytes < 50'000; bytes += 1 + bytes / 3)
      for (std::size_t alignment = 1; alignment <= most_alignment_of<TypeParam>; alignment *= 4)
        ASSERT_TRUE(ashlar::is_aligned(pools.allocate(bytes, alignment), alignment));
    pools.release();
    EXPECT_EQ(books.balance(), nothing);
  }
  static_cast<void>(pools.allocate(100));  // live at the end: no leak, and no report
}

// Only ours from here on.
template <class Resource>
class ashlar_pool_resource : public ::testing::Test {};

using our_resources =
    ::testing::Types<ashlar::pmr::unsynchronized_pool_resource, ashlar::pmr::synchronized_pool_resource>;
TYPED_TEST_SUITE(ashlar_pool_resource, our_resources);

TYPED_TEST(ashlar_pool_resource, requests_at_most_the_blocks_of_its_options_at_once) {
  for (const std::size_t most : {1u, 3u, 16u, 100u}) {
    counting_resource<> books;
    counted_bridge upstream(books);
    TypeParam pools(options_of(most, 1024), &upstream);
    for (const std::size_t bytes : {24u, 200u, 1024u}) {
      static_cast<void>(pools.allocate(bytes, 8));  // makes the pool
      std::size_t before = books.balance().bytes;
      for (int i = 0; i < 150; ++i) {
        static_cast<void>(pools.allocate(bytes, 8));
        const std::size_t now = books.balance().bytes;
        ASSERT_LE(now - before, most * bytes * 2 + 1024) << most << " of " << bytes;  // slabs are powers of two
        before = now;
      }
    }
  }
}

TEST(pmr_pools, threads_share_the_synchronized_one_over_an_upstream_that_is_not) {
  counting_resource<> books;  // neither it nor the bridge has a lock
  counted_bridge upstream(books);
  {
    ashlar::pmr::synchronized_pool_resource pools(&upstream);
    const auto body = [&](unsigned seed) {
      std::mt19937 random(seed);
      std::pmr::list<std::pmr::string> words(&pools);
      for (int i = 0; i < (ashlar_test::is_slow ? 500 : 3000); ++i) {
        words.emplace_back(random() % 300, 'x');
        if (words.size() > 50) words.pop_front();
      }
      static_cast<void>(pools.allocate(40'000));
    };
    std::thread first(body, 1);
    std::thread second(body, 2);
    first.join();
    second.join();
  }
  EXPECT_EQ(books.balance(), nothing);
}

using ours = ashlar::pmr::monotonic_buffer_resource;
using standard = std::pmr::monotonic_buffer_resource;

// The standard's resource and ours must behave equally: each test runs on both.
template <class Monotonic>
class pmr_monotonic : public ::testing::Test {
protected:
  counting_resource<> counted;  // reports blocks that come back with another size or alignment, or never
  counted_bridge upstream{resource_ref(counted)};
  alignas(16) std::array<std::byte, 256> buffer;

  bool is_in_buffer(const void* p) const { return p >= buffer.data() && p < buffer.data() + buffer.size(); }
};

using both = ::testing::Types<ours, standard>;
TYPED_TEST_SUITE(pmr_monotonic, both);

TYPED_TEST(pmr_monotonic, has_these_constructors_and_none_allocates) {
  using m = TypeParam;
  static_assert(std::is_default_constructible_v<m> && !std::is_copy_constructible_v<m> &&
                !std::is_copy_assignable_v<m>);
  static_assert(!std::is_convertible_v<std::pmr::memory_resource*, m> && !std::is_convertible_v<std::size_t, m>);
  static_assert(std::is_base_of_v<std::pmr::memory_resource, m> && !std::is_final_v<m>);
  std::pmr::memory_resource* const before = std::pmr::set_default_resource(&this->upstream);
  m by_default, of_size(100), over(&this->upstream), of_size_over(100, &this->upstream);
  m on(this->buffer.data(), 256), on_over(this->buffer.data(), 256, &this->upstream), on_none(nullptr, 0);
  std::pmr::set_default_resource(before);
  for (m* const each : {&by_default, &of_size, &over, &of_size_over, &on, &on_over, &on_none})
    EXPECT_EQ(each->upstream_resource(), &this->upstream);
  EXPECT_EQ(this->counted.allocations(), 0u);
  static_cast<void>(on_none.allocate(1));
  EXPECT_EQ(this->counted.allocations(), 1u);
}

TYPED_TEST(pmr_monotonic, uses_all_of_the_buffer_before_it_asks) {
  TypeParam m(this->buffer.data(), this->buffer.size(), &this->upstream);
  for (int i = 0; i < 256; ++i) EXPECT_TRUE(this->is_in_buffer(m.allocate(1, 1)));
  EXPECT_EQ(this->counted.allocations(), 0u);
  EXPECT_FALSE(this->is_in_buffer(m.allocate(1, 1)));
  EXPECT_EQ(this->counted.allocations(), 1u);
  m.release();
  EXPECT_EQ(this->counted.balance(), ashlar_test::nothing);
  EXPECT_EQ(m.allocate(1, 1), this->buffer.data());
}

TYPED_TEST(pmr_monotonic, asks_for_at_least_the_first_size_and_for_more_each_time) {
  TypeParam m(10'000, &this->upstream);
  for (int i = 0; i < 1000; ++i) static_cast<void>(m.allocate(10, 1));
  EXPECT_EQ(this->counted.allocations(), 1u);
  for (int i = 0; i < 100'000; ++i) static_cast<void>(m.allocate(10, 2));
  EXPECT_LE(this->counted.allocations(), 15u);
  EXPECT_LE(this->counted.balance().bytes, 3'100'000u);
  m.release();
  const std::size_t before = this->counted.allocations();
  for (int i = 0; i < 1000; ++i) static_cast<void>(m.allocate(10, 1));
  EXPECT_EQ(this->counted.allocations(), before + 1);
}

#if defined(__cpp_exceptions)
// Even if the first request upstream fails.
TYPED_TEST(pmr_monotonic, passes_an_exception_on_and_works_again) {
  TypeParam m(64, &this->upstream);
  this->counted.fail_from(0);
  EXPECT_THROW(static_cast<void>(m.allocate(100'000, 8)), ashlar_test::injected_failure);
  this->counted.fail_never();
  EXPECT_NE(m.allocate(100'000, 8), nullptr);
  volatile std::size_t absurd = ashlar::max_size - 10;  // keeps the compiler from refusing it
  EXPECT_THROW(static_cast<void>(m.allocate(absurd, 1)), std::bad_alloc);
  EXPECT_NE(m.allocate(100, 8), nullptr);
}
#endif

TEST(pmr_monotonic_extension, reset_keeps_the_memory) {
  counting_resource<> counted;
  counted_bridge upstream{resource_ref(counted)};
  ours m(&upstream);
  const auto frame = [&] {
    std::pmr::vector<std::pmr::string> lines(&m);
    for (int i = 0; i < 500; ++i) lines.emplace_back("a string that is too long to be stored in place");
  };
  for (int i = 0; i < 2; ++i) frame(), m.reset();
  const std::size_t before = counted.allocations();
  for (int i = 0; i < 20; ++i) frame(), m.reset();
  EXPECT_EQ(counted.allocations(), before);
  EXPECT_EQ(counted.balance().blocks, 1u);
  EXPECT_TRUE(m.invariant());
  EXPECT_GT(m.blocks().capacity(), 0u);
}

TEST(pmr_monotonic_extension, no_upstream_is_misuse) {
  ASHLAR_EXPECT_DEATH(ours(static_cast<std::pmr::memory_resource*>(nullptr)),
                      "ashlar: precondition: made a monotonic_buffer_resource with a null upstream");
}

TYPED_TEST(pmr_monotonic, equals_itself_alone) {
  TypeParam a, b;
  EXPECT_TRUE(a.is_equal(a));
  EXPECT_FALSE(a.is_equal(b) || b == a);
}

using ashlar::pmr_resource;
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

const bool tested = ashlar_test::conforms<bridge_to_operator_new, bridge_to_a_pool>("pmr_resource");

}  // namespace
