// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of unique pointers over any resource and of their deleters: contents, conversions, and no loss after any
// failure.
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

#include <ashlar/base/bits.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/face/resource_delete.hpp>
#include <ashlar/face/unique.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>

#include "tests/face/witness.hpp"
#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::allocate_unique;
using ashlar::allocate_unique_for_overwrite;
using ashlar::block_pool;
using ashlar::new_delete_resource;
using ashlar::resource_delete;
using ashlar::resource_ref;
using ashlar::try_allocate_unique;
using ashlar::unique_base_from;
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
static_assert(sizeof(unique_base_from<int, new_delete_resource>) == 2 * sizeof(void*));
static_assert(sizeof(unique_base_from<int, block_pool<>>) == 3 * sizeof(void*));
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
  ashlar::pmr_resource<new_delete_resource> bridge;
  hold_a_string(pool);
  hold_a_string(resource_ref(pool));
  hold_a_string(bridge);
  hold_a_string(*std::pmr::new_delete_resource());
  hold_a_string(new_delete_resource());
  EXPECT_EQ(pool.live(), 0u);
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

using pool = block_pool<>;
using counted = counting_resource<>;

struct plain_base {
  int of_base = 1;
};
struct first_base {
  virtual ~first_base() = default;
  double of_first = 2;
};
struct alignas(32) derived : first_base, plain_base {
  witness inside{7};
};
struct virtually_derived : virtual plain_base {};
struct private_base_of : private plain_base {};

template <class From, class To>
inline constexpr bool converts = std::is_convertible_v<From, To>;

// An exact deleter gains const, and never becomes that of a base, with a virtual destructor or without, of an array or
// of another resource.
static_assert(converts<resource_delete<int, pool>, resource_delete<const int, pool>>);
static_assert(!converts<resource_delete<const int, pool>, resource_delete<int, pool>>);
static_assert(!converts<resource_delete<derived, pool>, resource_delete<plain_base, pool>>);
static_assert(!converts<resource_delete<derived, pool>, resource_delete<first_base, pool>>);
static_assert(!converts<resource_delete<int, pool>, resource_delete<int, counted>>);
static_assert(!converts<resource_delete<int[], pool>, resource_delete<int, pool>>);
static_assert(converts<resource_delete<int[], pool>, resource_delete<const int[], pool>>);
static_assert(!converts<resource_delete<derived[], pool>, resource_delete<first_base[], pool>>);
static_assert(!converts<unique_from<derived, pool>, unique_from<first_base, pool>>);

// The deleter of a base takes any derived class from which it can find the way back.
static_assert(converts<unique_from<derived, pool>, unique_base_from<plain_base, pool>>);
static_assert(converts<unique_from<derived, pool>, unique_base_from<const plain_base, pool>>);
static_assert(converts<unique_from<const derived, pool>, unique_base_from<const plain_base, pool>>);
static_assert(!converts<unique_from<const derived, pool>, unique_base_from<plain_base, pool>>);
static_assert(converts<unique_from<plain_base, pool>, unique_base_from<plain_base, pool>>);
static_assert(converts<unique_base_from<plain_base, pool>, unique_base_from<const plain_base, pool>>);
static_assert(!converts<unique_base_from<derived, pool>, unique_base_from<plain_base, pool>>);
static_assert(!converts<unique_from<virtually_derived, pool>, unique_base_from<plain_base, pool>>);
static_assert(!converts<unique_from<private_base_of, pool>, unique_base_from<plain_base, pool>>);
static_assert(!converts<unique_from<plain_base, pool>, unique_base_from<derived, pool>>);
static_assert(!converts<unique_from<derived[], pool>, unique_base_from<plain_base, pool>>);

TEST(resource_delete, a_base_gives_back_the_size_the_alignment_and_the_address_of_the_whole) {
  counted upstream;  // reports all other frees
  witness::start();
  unique_base_from<plain_base, counted> held = allocate_unique<derived>(upstream);
  EXPECT_EQ(held->of_base, 1);
  EXPECT_EQ(upstream.balance().bytes, sizeof(derived));
  unique_base_from<const plain_base, counted> constant = std::move(held);
  constant.reset();
  EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
  EXPECT_EQ(witness::live(), 0u);
}

TEST(resource_delete, a_base_over_a_resource_without_state_ends_the_whole) {
  witness::start();
  unique_base_from<plain_base, new_delete_resource> held = allocate_unique<derived>(new_delete_resource());
  held = nullptr;
  EXPECT_EQ(witness::live(), 0u);
}

TEST(resource_delete, null_needs_no_resource) {
  unique_from<int, pool> one;
  unique_from<int[], pool> many;
  unique_base_from<plain_base, pool> base;
  one.reset();
  many = nullptr;
  EXPECT_TRUE(one == nullptr && many == nullptr && base == nullptr);
}

TEST(resource_delete, an_object_forced_on_a_null_deleter_is_reported) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  static plain_base nobodys;
  unique_from<plain_base, pool> exact(&nobodys);
  unique_base_from<plain_base, pool> erased(&nobodys);
  const std::string line = "ashlar: precondition: freed to a deleter that has no resource";
  ASHLAR_EXPECT_LAST_WORDS(exact.reset(), line);
  ASHLAR_EXPECT_LAST_WORDS(erased.reset(), line);
  static_cast<void>(exact.release());
  static_cast<void>(erased.release());
}

// A forced conversion passes the types; then the pool detects a free of a smaller size than was allocated.
TEST(resource_delete, a_derived_object_freed_as_its_base_is_reported_by_the_pool) {
  if (ashlar::checking_level < ashlar::checking::hardened) GTEST_SKIP() << "looked for at level hardened";
  struct base {
    int of_base = 0;
  };
  struct wide : base {
    int more[9] = {};
  };
  pool cells({.cell_bytes = 64});
  const auto home = ashlar::detail::link_to(cells);
  ASHLAR_EXPECT_LAST_WORDS(
      (unique_from<base, pool>(allocate_unique<wide>(cells).release(), resource_delete<base, pool>(home)).reset()),
      "ashlar: size_mismatch: freed a cell with another size than it was allocated with, pointer 0x*, resource 0x*, "
      "block of 64 bytes, expected 40, got 4");
}

}  // namespace
