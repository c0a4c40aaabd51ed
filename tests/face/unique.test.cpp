// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of unique pointers over any resource: their contents, and no loss after any failure.
#include <ashlar/face/unique.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/face/witness.hpp"
#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::allocate_unique;
using ashlar::allocate_unique_for_overwrite;
using ashlar::block_pool;
using ashlar::new_delete_resource;
using ashlar::resource_ref;
using ashlar::try_allocate_unique;
using ashlar::unique_from;
using ashlar_test::counting_resource;
using ashlar_test::nothing;
using ashlar_test::witness;

struct point {
  int x;
  int y;
};

struct alignas(128) spacious {
  char c = 'c';
};

// The cost; and all forms of a reference to a resource are one type.
static_assert(sizeof(unique_from<int, new_delete_resource>) == sizeof(void*));
static_assert(sizeof(unique_from<int, block_pool<>>) == 2 * sizeof(void*));
static_assert(sizeof(unique_from<int[], new_delete_resource>) == 2 * sizeof(void*));
static_assert(sizeof(unique_from<int[], block_pool<>>) == 3 * sizeof(void*));
static_assert(std::is_same_v<unique_from<int, resource_ref<block_pool<>>>, unique_from<int, block_pool<>>>);
static_assert(std::is_nothrow_default_constructible_v<unique_from<int, block_pool<>>>);

template <class T, class R, class... Args>
concept can_allocate = requires(R r, Args... args) { allocate_unique<T>(static_cast<R>(r), args...); };
static_assert(can_allocate<int, block_pool<>&, int> && !can_allocate<int, block_pool<>&&, int>);
static_assert(!can_allocate<int, const block_pool<>&, int> && can_allocate<int, const new_delete_resource&, int>);
static_assert(!can_allocate<int[4], block_pool<>&> && can_allocate<int[], block_pool<>&, std::size_t>);

template <class R>
void hold_a_string(R&& r) {
  const auto p = allocate_unique<const std::string>(r, 40, 'a');
  EXPECT_EQ(*p, std::string(40, 'a'));
}

TEST(unique, is_over_any_resource) {
  block_pool<> pool({.cell_bytes = sizeof(std::string)});
  ashlar::fixed_block_pool<sizeof(std::string)> fixed;
  ashlar::shared_block_pool<> shared({.cell_bytes = sizeof(std::string)});
  ashlar::statistics<resource_ref<block_pool<>>> adaptor{resource_ref(pool)};
  ashlar::inline_buffer<256> buffer;
  ashlar::pmr_resource<new_delete_resource> bridge;
  hold_a_string(pool);
  hold_a_string(resource_ref(pool));
  hold_a_string(fixed);
  hold_a_string(shared);
  hold_a_string(adaptor);
  hold_a_string(buffer);
  hold_a_string(bridge);
  hold_a_string(*std::pmr::new_delete_resource());
  hold_a_string(new_delete_resource());
  EXPECT_EQ(pool.live() + fixed.live() + shared.live(), 0u);
}

TEST(unique, aligns_its_object) {
  counting_resource<> upstream;
  const auto p = allocate_unique<spacious>(upstream);
  EXPECT_TRUE(ashlar::is_aligned(p.get(), 128));
  const auto many = allocate_unique<spacious[]>(upstream, 3);
  EXPECT_TRUE(ashlar::is_aligned(many.get(), 128));
}

TEST(unique, holds_an_array_and_destroys_its_last_element_first) {
  counting_resource<> upstream;
  witness::start();
  auto p = allocate_unique<witness[]>(upstream, 5);
  EXPECT_EQ(p.get_deleter().count(), 5u);
  EXPECT_EQ(upstream.balance().bytes, 5 * sizeof(witness));
  EXPECT_EQ(witness::live(), 5u);
  p.reset();
  EXPECT_TRUE(witness::all_destroyed_in_reverse());
}

TEST(unique, sets_the_elements_of_an_array_to_zero) {
  counting_resource<> upstream;  // hands out 0xCD
  const unique_from<const int[], counting_resource<>> p = allocate_unique<int[]>(upstream, 100);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(p[i], 0);
  const auto one = allocate_unique<point>(upstream);
  EXPECT_EQ(one->x, 0);
}

TEST(unique, leaves_the_bytes_as_they_are_where_they_will_be_overwritten) {
  counting_resource<> upstream;
  const auto bytes = allocate_unique_for_overwrite<unsigned char[]>(upstream, 100);
  EXPECT_EQ(bytes[99], 0xCD);
  const auto one = allocate_unique_for_overwrite<unsigned char>(upstream);
  EXPECT_EQ(*one, 0xCD);
  const auto made = allocate_unique_for_overwrite<std::string[]>(upstream, 2);
  EXPECT_EQ(made[1], "");
}

TEST(unique, an_empty_array_is_a_block_of_its_own) {
  counting_resource<> upstream;
  const auto none = allocate_unique<witness[]>(upstream, 0);
  const auto none_either = allocate_unique_for_overwrite<int[]>(upstream, 0);
  EXPECT_TRUE(none != nullptr && none_either != nullptr);
  EXPECT_EQ(upstream.balance().blocks, 2u);
}

TEST(unique, passes_what_cannot_be_copied_on) {
  new_delete_resource anywhere;
  const auto p = allocate_unique<std::unique_ptr<int>>(anywhere, std::make_unique<int>(5));
  EXPECT_EQ(**p, 5);
  auto keeps_reference = allocate_unique<std::pair<int&, int>>(anywhere, **p, 7);
  keeps_reference->first = 8;
  EXPECT_EQ(**p, 8);
}

TEST(unique, is_null_where_there_is_no_memory_left) {
  block_pool<> pool({.cell_bytes = 16, .max_count = 2});
  auto a = try_allocate_unique<point>(pool, 1, 2);
  const auto b = try_allocate_unique<int[]>(pool, 4);
  EXPECT_TRUE(a != nullptr && b != nullptr);
  for (int again = 0; again < 1000; ++again) ASSERT_EQ(try_allocate_unique<point>(pool, 1, 2), nullptr);
  EXPECT_EQ(try_allocate_unique<int[]>(pool, 2), nullptr);
  a.reset();
  a = try_allocate_unique<point>(pool, 5, 6);
  EXPECT_EQ(a->x, 5);
  EXPECT_EQ(try_allocate_unique<int>(ashlar::null_resource()), nullptr);
}

TEST(unique, refuses_arrays_beyond_the_address_space) {
  counting_resource<> upstream;
  constexpr std::size_t top = std::numeric_limits<std::size_t>::max();
  using element = std::array<char, 24>;
  for (const std::size_t n : {top, top / 2, top / 24, top / 24 + 1, top / 24 + 2, ashlar::max_block_bytes / 24 + 1}) {
    EXPECT_EQ((try_allocate_unique<element[]>(upstream, n)), nullptr);
#if defined(__cpp_exceptions)
    EXPECT_THROW(static_cast<void>(allocate_unique<element[]>(upstream, n)), std::bad_array_new_length);
    EXPECT_THROW(static_cast<void>(allocate_unique_for_overwrite<element[]>(upstream, n)), std::bad_array_new_length);
#endif
  }
  EXPECT_EQ(upstream.allocations() + upstream.refusals(), 0u);
}

#if defined(__cpp_exceptions)

template <class Make>
void throw_at_every_index(Make make) {
  constexpr std::size_t elements = 17;
  for (std::size_t index = 0; index < elements; ++index) {
    counting_resource<> upstream;
    witness::start(index);
    EXPECT_THROW(static_cast<void>(make(upstream, elements)), ashlar_test::refused_to_be);
    EXPECT_EQ(witness::made(), index);
    EXPECT_TRUE(witness::all_destroyed_in_reverse());
    EXPECT_EQ(upstream.balance(), nothing);
    witness::start();
    EXPECT_NE(make(upstream, elements), nullptr);
  }
}

TEST(unique, an_array_whose_constructor_throws_at_any_index_leaves_nothing_behind) {
  throw_at_every_index([](auto& r, std::size_t n) { return allocate_unique<witness[]>(r, n); });
  throw_at_every_index([](auto& r, std::size_t n) { return try_allocate_unique<witness[]>(r, n); });
  throw_at_every_index([](auto& r, std::size_t n) { return allocate_unique_for_overwrite<witness[]>(r, n); });
}

TEST(unique, throws_what_its_resource_throws) {
  counting_resource<> upstream;
  upstream.fail_from(0);
  EXPECT_THROW(static_cast<void>(allocate_unique<point>(upstream, 1, 2)), ashlar_test::injected_failure);
  EXPECT_THROW(static_cast<void>(allocate_unique<point[]>(upstream, 3)), ashlar_test::injected_failure);
  EXPECT_EQ(try_allocate_unique<point>(upstream, 1, 2), nullptr);
  ashlar_test::throwing_only<> stubborn(upstream);
  EXPECT_EQ(try_allocate_unique<point[]>(stubborn, 3), nullptr);
}
#endif

}  // namespace
