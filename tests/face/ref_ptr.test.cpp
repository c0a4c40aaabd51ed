// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the pointer as a value: copies, moves, bases, constness, comparison, and the hand-over to other pointers.
#include <ashlar/face/ref_ptr.hpp>

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/face/ref_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::any_thread;
using ashlar::one_thread;

template <class Threads>
class ref_ptr : public ::testing::Test {
protected:
  template <class T>
  using pool_of = ashlar::ref_pool<T, Threads>;
  template <class T>
  using pointer_to = ashlar::ref_ptr<T, Threads>;
};
using policies = ::testing::Types<one_thread, any_thread<>>;
TYPED_TEST_SUITE(ref_ptr, policies);

struct first_base {
  std::uint64_t first = 1;
};
struct second_base {
  std::uint64_t second = 2;
};
struct virtual_base {
  virtual ~virtual_base() = default;
  virtual int name() const { return 0; }
};
// No base except the last has a virtual destructor, and the relevant ones do not come first.
struct whole : first_base, second_base, virtual_base {
  explicit whole(int& count) : ended(&count) {}
  ~whole() override { ++*ended; }
  int name() const override { return 7; }
  int* ended;
};

TYPED_TEST(ref_ptr, is_one_word_and_never_throws) {
  using pointer = typename TestFixture::template pointer_to<whole>;
  static_assert(sizeof(pointer) == sizeof(void*));
  static_assert(std::is_nothrow_copy_constructible_v<pointer> && std::is_nothrow_move_assignable_v<pointer>);
  static_assert(std::is_nothrow_default_constructible_v<pointer> && std::is_nothrow_copy_assignable_v<pointer>);
  static_assert(std::is_nothrow_constructible_v<pointer, std::nullptr_t>);
}

TYPED_TEST(ref_ptr, converts_as_pointers_do_and_no_further) {
  using derived = typename TestFixture::template pointer_to<whole>;
  using base = typename TestFixture::template pointer_to<second_base>;
  static_assert(std::is_convertible_v<derived, base> && !std::is_convertible_v<base, derived>);
  using number = typename TestFixture::template pointer_to<int>;
  using constant = typename TestFixture::template pointer_to<const int>;
  static_assert(std::is_convertible_v<number, constant> && !std::is_convertible_v<constant, number>);
  // A count in another place is not found there.
  static_assert(!std::is_convertible_v<ashlar::ref_ptr<int, TypeParam, ashlar::count::in_slab>,
                                       ashlar::ref_ptr<int, TypeParam, ashlar::count::beside>>);
  using other_threads = std::conditional_t<std::is_same_v<TypeParam, one_thread>, any_thread<>, one_thread>;
  static_assert(!std::is_convertible_v<number, ashlar::ref_ptr<int, other_threads>>);
}

TYPED_TEST(ref_ptr, counts_copies_and_not_moves) {
  typename TestFixture::template pool_of<int> pool;
  auto a = pool.make(5);
  EXPECT_EQ(a.use_count(), 1u);
  auto b = a;
  EXPECT_EQ(a.use_count(), 2u);
  auto c = std::move(a);
  EXPECT_EQ(b.use_count(), 2u);
  EXPECT_EQ(a.get(), nullptr);
  EXPECT_EQ(a.use_count(), 0u);
  a = c;
  EXPECT_EQ(c.use_count(), 3u);
  const auto& same = a;
  a = same;
  EXPECT_EQ(c.use_count(), 3u);
  a = std::move(b);
  EXPECT_EQ(c.use_count(), 2u);
  a = nullptr;
  c.reset();
  EXPECT_EQ(pool.live(), 0u);
}

TYPED_TEST(ref_ptr, moves_to_itself_unharmed) {
  typename TestFixture::template pool_of<int> pool;
  auto a = pool.make(5);
  auto& same = a;
  a = std::move(same);
  EXPECT_EQ(*a, 5);
  EXPECT_EQ(a.use_count(), 1u);
}

TYPED_TEST(ref_ptr, a_base_at_another_offset_ends_the_whole_object) {
  int ended = 0;
  typename TestFixture::template pool_of<whole> pool;
  std::vector<typename TestFixture::template pointer_to<second_base>> bases;
  for (int i = 0; i < 100; ++i) bases.push_back(pool.make(ended));
  auto derived = pool.make(ended);
  typename TestFixture::template pointer_to<const virtual_base> constant = derived;
  EXPECT_EQ(derived.use_count(), 2u);
  EXPECT_EQ(constant->name(), 7);
  EXPECT_EQ(bases[50]->second, 2u);
  derived.reset();
  EXPECT_EQ(ended, 0);
  constant.reset();
  EXPECT_EQ(ended, 1);
  bases.clear();
  EXPECT_EQ(ended, 101);
  EXPECT_TRUE(pool.invariant());
}

TYPED_TEST(ref_ptr, casts_back) {
  int ended = 0;
  typename TestFixture::template pool_of<whole> pool;
  typename TestFixture::template pointer_to<second_base> base = pool.make(ended);
  auto derived = ashlar::static_pointer_cast<whole>(base);
  EXPECT_EQ(derived->name(), 7);
  EXPECT_EQ(base.use_count(), 2u);
  typename TestFixture::template pointer_to<const whole> constant = derived;
  EXPECT_EQ(ashlar::const_pointer_cast<whole>(constant).get(), derived.get());
  EXPECT_FALSE(ashlar::static_pointer_cast<whole>(typename TestFixture::template pointer_to<second_base>()));
}

TYPED_TEST(ref_ptr, compares_and_hashes_as_pointers_do) {
  typename TestFixture::template pool_of<int> pool;
  const auto a = pool.make(1);
  const auto b = pool.make(1);
  const auto also_a = a;
  EXPECT_TRUE(a == also_a);
  EXPECT_TRUE(a != b);
  EXPECT_TRUE(a != nullptr);
  EXPECT_EQ((a <=> b) == std::strong_ordering::less, std::less<>()(a.get(), b.get()));
  const std::unordered_set<typename TestFixture::template pointer_to<int>> set{a, b, also_a};
  EXPECT_EQ(set.size(), 2u);
  const std::map<typename TestFixture::template pointer_to<int>, int> map{{a, 1}, {b, 2}};
  EXPECT_EQ(map.at(also_a), 1);
}

TYPED_TEST(ref_ptr, hands_its_reference_over) {
  typename TestFixture::template pool_of<int> pool;
  int* const raw = pool.make(3).release();
  EXPECT_EQ(pool.live(), 1u);
  ashlar::add_reference<TypeParam>(raw);
  const auto adopted = TestFixture::template pointer_to<int>::adopt(raw);
  EXPECT_EQ(adopted.use_count(), 2u);
  ashlar::drop_reference<TypeParam>(raw);
  EXPECT_EQ(adopted.use_count(), 1u);
  EXPECT_FALSE(TestFixture::template pointer_to<int>::adopt(nullptr));
}

TYPED_TEST(ref_ptr, swaps) {
  typename TestFixture::template pool_of<int> pool;
  auto a = pool.make(1);
  auto b = pool.make(2);
  swap(a, b);
  EXPECT_EQ(*a, 2);
  a.swap(b);
  EXPECT_EQ(*a, 1);
  EXPECT_EQ(pool.live(), 2u);
}

// Incomplete where it is used, as in every linked structure.
struct later;
struct holder {
  ashlar::ref_ptr<later> one;
  ashlar::ref_ptr<later, any_thread<>> other;
  holder();
  holder(const holder&);
  ~holder();
};
struct later final {
  int value = 1;
};
holder::holder() = default;
holder::holder(const holder&) = default;
holder::~holder() = default;

TYPED_TEST(ref_ptr, points_to_what_is_complete_later) {
  ashlar::ref_pool<later> pool;
  holder a;
  a.one = pool.make();
  const holder b = a;
  EXPECT_EQ(b.one.use_count(), 2u);
}

}  // namespace
