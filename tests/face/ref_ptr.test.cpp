// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the counted pointer as a value, of the place and the bounds of its count, and of reports of dead objects.
#include <algorithm>
#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>

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

struct open_class {
  double value = 1;
};
struct closed_class final {
  double value;
};
union either {
  int a;
  float b;
};
enum class colour { red };

static_assert(ashlar::detail::is_exact_type<int> && ashlar::detail::is_exact_type<double*> &&
              ashlar::detail::is_exact_type<closed_class>);
static_assert(ashlar::detail::is_exact_type<either> && ashlar::detail::is_exact_type<colour> &&
              !ashlar::detail::is_exact_type<open_class>);

struct padded {
  double number;
  int rest;
};
struct counts_itself {
  std::uint32_t count = 77;  // meaningless until the object is made
  friend std::uint32_t& ref_count(counts_itself& object) { return object.count; }
};
struct derives : counts_itself {
  double more;
};
struct has_member {
  std::atomic<std::uint32_t> references;
  double value;
};

template <class T, class Placement = ashlar::count::by_padding>
inline constexpr bool is_beside = ashlar::detail::layout_of<T, one_thread, Placement>::is_beside;
template <class T, class Placement = ashlar::count::by_padding>
inline constexpr bool is_own = ashlar::detail::placement_traits<T, Placement>::is_own;

// If slots have guards, all words lie in front of them.
static_assert(ashlar::detail::has_guards ||
              (is_beside<int> && is_beside<float> && !is_beside<std::int64_t> == (alignof(std::int64_t) == 8)));
static_assert(!is_beside<char> && !is_beside<std::int16_t>, "the word would be aligned to four");
static_assert(is_beside<int, ashlar::count::beside> != ashlar::detail::has_guards &&
              !is_beside<int, ashlar::count::in_slab>);
static_assert(is_own<counts_itself> && is_own<derives> && !is_own<int> && !is_own<std::string>);
static_assert(!is_own<counts_itself, ashlar::count::in_slab>, "who says where is heard");
static_assert(is_own<has_member, ashlar::count::in_member<&has_member::references>> && !is_own<has_member>);

TEST(count_placement, padding_is_used_where_it_costs_nothing) {
  using layout = ashlar::detail::layout_of<padded, one_thread, ashlar::count::by_padding>;
  // The padding inside a class belongs to the class: a copy of the object would overwrite it.
  EXPECT_EQ(layout::bytes_per_slot, sizeof(padded) + layout::guard::bytes + 4);
}

TEST(count_placement, beside_costs_no_more_than_in_the_slab_where_it_is_chosen) {
  const auto cost = []<class T>(T*) {
    using chosen = ashlar::detail::layout_of<T, one_thread, ashlar::count::by_padding>;
    using beside = ashlar::detail::layout_of<T, one_thread, ashlar::count::beside>;
    using in_slab = ashlar::detail::layout_of<T, one_thread, ashlar::count::in_slab>;
    EXPECT_EQ(chosen::bytes_per_slot, std::min(beside::bytes_per_slot, in_slab::bytes_per_slot));
  };
  cost(static_cast<char*>(nullptr));
  cost(static_cast<short*>(nullptr));
  cost(static_cast<int*>(nullptr));
  cost(static_cast<double*>(nullptr));
  cost(static_cast<padded*>(nullptr));
  cost(static_cast<std::string*>(nullptr));
}

const char* const overflow = "ashlar: precondition: counted more than 2^30 - 1 references to one object";

struct shared_counts_itself {
  std::atomic<std::uint32_t> count;
  friend std::atomic<std::uint32_t>& ref_count(shared_counts_itself& object) { return object.count; }
};

template <class T, class Threads>
void store_count(T* object, std::uint32_t to) {
  auto& count = ashlar::detail::ref_counts<T, Threads, ashlar::count::by_padding>::count_of(object);
  if constexpr (requires { count = to; }) count = to;
  else count.store(to);
}

// As with this number of pointers, which are too many for a test's memory.
template <class T, class Threads>
void expect_overflow_ends_the_process() {
  ashlar::ref_pool<T, Threads> pool;
  auto object = pool.make();
  store_count<T, Threads>(object.get(), ashlar::detail::slot_word::max_count - 1);
  auto last = object;
  EXPECT_EQ(last.use_count(), ashlar::detail::slot_word::max_count);
  ASHLAR_EXPECT_DEATH(auto one_too_many = object, overflow);
  store_count<T, Threads>(object.get(), 2);
}

TEST(ref_counts, trap_before_they_overflow) {
  expect_overflow_ends_the_process<int, one_thread>();
  expect_overflow_ends_the_process<double, one_thread>();
  expect_overflow_ends_the_process<open_class, one_thread>();
  expect_overflow_ends_the_process<counts_itself, one_thread>();
  expect_overflow_ends_the_process<int, any_thread<>>();
  expect_overflow_ends_the_process<double, any_thread<>>();
  expect_overflow_ends_the_process<open_class, any_thread<>>();
  expect_overflow_ends_the_process<shared_counts_itself, any_thread<>>();
}

class ref_counts_faults : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }
};

TEST_F(ref_counts_faults, references_to_what_is_gone) {
  ashlar::ref_pool<int> pool;
  const auto other = pool.make(1);
  int* const gone = pool.make(2).get();
  const char* const words = "ashlar: double_free: referred to an object that was destroyed, pointer 0x*";
  ASHLAR_EXPECT_DEATH(ashlar::drop_reference(gone), words);
  ASHLAR_EXPECT_DEATH(ashlar::add_reference(gone), words);
  ASHLAR_EXPECT_DEATH(static_cast<void>(ashlar::ref_ptr<int>::adopt(gone)), words);
}

// The slot is still in transit: in the list to which other threads push.
TEST_F(ref_counts_faults, references_to_what_went_in_another_thread) {
  ashlar::ref_pool<int, any_thread<>> pool;
  auto object = pool.make(1);
  int* const gone = object.get();
  std::thread([&object] { object.reset(); }).join();
  const char* const words = "ashlar: double_free: referred to an object that was destroyed, pointer 0x*";
  ASHLAR_EXPECT_DEATH(ashlar::drop_reference<any_thread<>>(gone), words);
  ASHLAR_EXPECT_DEATH(ashlar::add_reference<any_thread<>>(gone), words);
  ASHLAR_EXPECT_DEATH(std::thread([gone] { ashlar::drop_reference<any_thread<>>(gone); }).join(), words);
}

TEST_F(ref_counts_faults, objects_of_a_pool_that_has_ended) {
  std::optional<ashlar::ref_pool<int>> pool(std::in_place);
  int* const gone = pool->make(1).get();
  pool.reset();
  ASHLAR_EXPECT_DEATH(ashlar::drop_reference(gone),
                      "ashlar: invalid_free: referred to a pointer that is not of an object of a pool, pointer 0x*");
}

TEST_F(ref_counts_faults, null_pointers) {
  const ashlar::ref_ptr<int> null;
  ASHLAR_EXPECT_DEATH(static_cast<void>(*null), "ashlar: precondition: dereferenced a null ref_ptr");
}

TEST_F(ref_counts_faults, casts_to_a_class_with_another_placement_of_the_count) {
  if (ashlar::detail::has_guards)
    GTEST_SKIP() << "where slots have guards, counts of all placements lie in front of them";
  struct base {
    int a = 1;
  };
  struct last final : base {};
  ashlar::ref_pool<last, one_thread, ashlar::count::in_slab> pool;
  const ashlar::ref_ptr<base> object = pool.make();
  ASHLAR_EXPECT_DEATH(static_cast<void>(ashlar::static_pointer_cast<last>(object)),
                      "ashlar: precondition: cast a pointer to a class with another placement of the count");
}

}  // namespace
