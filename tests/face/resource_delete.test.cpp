// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the deleters: their sizes, their conversions, and their frees.
#include <ashlar/face/resource_delete.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/face/unique.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/death/last_words.hpp"
#include "tests/face/witness.hpp"
#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::allocate_unique;
using ashlar::base_delete;
using ashlar::block_pool;
using ashlar::new_delete_resource;
using ashlar::resource_delete;
using ashlar::unique_base_from;
using ashlar::unique_from;
using ashlar_test::counting_resource;
using ashlar_test::witness;

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

static_assert(std::is_empty_v<resource_delete<int, new_delete_resource>>);
static_assert(sizeof(resource_delete<int, pool>) == sizeof(void*));
static_assert(sizeof(resource_delete<int[], new_delete_resource>) == sizeof(std::size_t));
static_assert(sizeof(resource_delete<int[], pool>) == 2 * sizeof(void*));
static_assert(sizeof(base_delete<int, new_delete_resource>) == sizeof(void*));
static_assert(sizeof(base_delete<int, pool>) == 2 * sizeof(void*));

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
  held.reset();
  EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
  EXPECT_EQ(witness::live(), 0u);
}

TEST(resource_delete, a_constant_base_does_so_too) {
  counted upstream;
  witness::start();
  {
    unique_base_from<first_base, counted> held = allocate_unique<derived>(upstream);
    const unique_base_from<const first_base, counted> constant = std::move(held);
    EXPECT_EQ(constant->of_first, 2);
  }
  EXPECT_EQ(witness::live(), 0u);
}

TEST(resource_delete, a_base_over_a_resource_without_state_is_two_words) {
  witness::start();
  unique_base_from<plain_base, new_delete_resource> held = allocate_unique<derived>(new_delete_resource());
  static_assert(sizeof(held) == 2 * sizeof(void*));
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
