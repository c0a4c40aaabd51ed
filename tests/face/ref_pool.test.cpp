// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of pools of counted objects: every size and place of the count, growth, kept objects, and every order of ends.
#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>

#include "tests/face/witness.hpp"
#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/pool_traits.hpp"

namespace {

using ashlar::any_thread;
using ashlar::construct_on_acquire;
using ashlar::keep_constructed;
using ashlar::null_when_exhausted;
using ashlar::one_thread;
using ashlar::throw_when_exhausted;
using ashlar_test::counting_resource;
using ashlar_test::nothing;
using ashlar_test::witness;
using counted = ashlar::resource_ref<counting_resource<>>;

// The promised cost of 15 million pointers, with their own 8 bytes.
template <class T>
inline constexpr std::size_t bytes_without_guard =
    ashlar::ref_pool<T>::bytes_per_object - ashlar::detail::slot_guard<sizeof(T), alignof(T)>::bytes;
static_assert(bytes_without_guard<double> == 12 && bytes_without_guard<int> == 8 && bytes_without_guard<char> == 5);

template <class Threads, class Placement>
struct policy {
  using threads = Threads;
  using placement = Placement;
};

template <class Policy>
class ref_pool : public ::testing::Test {
protected:
  template <class T>
  using pool_of = ashlar::ref_pool<T, typename Policy::threads, typename Policy::placement, counted>;

  void SetUp() override { witness::start(); }
  counting_resource<> upstream;
};
using policies = ashlar_test::types_of_build<
    ::testing::Types<policy<one_thread, ashlar::count::by_padding>, policy<any_thread<>, ashlar::count::in_slab>,
                     policy<any_thread<ashlar::null_lock>, ashlar::count::beside>>,
    ::testing::Types<policy<one_thread, ashlar::count::by_padding>, policy<one_thread, ashlar::count::in_slab>,
                     policy<one_thread, ashlar::count::beside>, policy<any_thread<>, ashlar::count::by_padding>,
                     policy<any_thread<>, ashlar::count::in_slab>,
                     policy<any_thread<ashlar::null_lock>, ashlar::count::beside>>>;
TYPED_TEST_SUITE(ref_pool, policies);

TYPED_TEST(ref_pool, makes_objects_with_one_reference) {
  typename TestFixture::template pool_of<std::pair<int, std::string>> pool(this->upstream);
  EXPECT_TRUE(pool.empty());
  EXPECT_EQ(this->upstream.allocations(), 0u);
  const auto object = pool.make(3, "a string that is longer than any small buffer");
  EXPECT_EQ(object->first, 3);
  EXPECT_EQ(object.use_count(), 1u);
  EXPECT_TRUE(pool.owns(object.get()));
  EXPECT_TRUE(pool.owns(&object->second));
  EXPECT_FALSE(pool.owns(&pool));
  EXPECT_EQ(pool.live(), 1u);
  EXPECT_EQ(pool.spare(), pool.capacity() - 1);
}

template <std::size_t Bytes, std::size_t Alignment>
struct alignas(Alignment) sized {
  unsigned char bytes[Bytes];
};

template <class Pool>
void expect_whole_objects(Pool& pool) {
  using object = typename Pool::value_type;
  std::vector<typename Pool::pointer> all;
  for (std::size_t i = 0; i < 300; ++i) {
    all.push_back(pool.make());
    std::memset(all.back()->bytes, static_cast<int>(i % 256), sizeof all.back()->bytes);
    ASSERT_TRUE(ashlar::is_aligned(all.back().get(), alignof(object)));
  }
  const auto copies = all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i].use_count(), 2u);
    const auto& bytes = all[i]->bytes;
    ASSERT_EQ(bytes[0], i % 256);
    ASSERT_EQ(std::memcmp(bytes, bytes + 1, sizeof bytes - 1), 0) << "all bytes are alike";
  }
  all.clear();
  EXPECT_EQ(pool.live(), 300u);
  EXPECT_TRUE(pool.invariant());
}

TYPED_TEST(ref_pool, objects_of_every_size_lie_apart_from_their_counts) {
  const auto check = [this]<class T>(T) {
    typename TestFixture::template pool_of<T> pool(this->upstream);
    expect_whole_objects(pool);
  };
  check(sized<3, 1>());
  check(sized<12, 4>());
  check(sized<200'000, 8>());
  if constexpr (std::same_as<TypeParam,
                             policy<one_thread, ashlar::count::by_padding>>) {  // the layouts differ by size only
    check(sized<1, 1>());
    check(sized<8, 8>());
    check(sized<40, 8>());
    check(sized<64, 64>());
    check(sized<5000, 8>());
  }
}

TYPED_TEST(ref_pool, may_end_before_its_objects) {
  for (const bool is_shuffled : {false, true}) {
    witness::start();
    std::optional<typename TestFixture::template pool_of<witness>> pool(this->upstream);
    std::vector<typename std::remove_reference_t<decltype(*pool)>::pointer> all;
    for (int i = 0; i < 20'000; ++i) all.push_back(pool->make(i));
    for (std::size_t i = 0; i < all.size(); i += 2) all[i].reset();
    pool.reset();
    EXPECT_EQ(witness::live(), 10'000u);
    if (is_shuffled) std::shuffle(all.begin(), all.end(), std::mt19937(1));
    for (auto& each : all) {
      EXPECT_TRUE(!each || this->upstream.balance() != nothing);
      each.reset();
    }
    EXPECT_EQ(this->upstream.balance(), nothing);
    EXPECT_EQ(witness::live(), 0u);
  }
}

TYPED_TEST(ref_pool, may_end_first_where_objects_do_nothing_when_they_end) {
  std::optional<typename TestFixture::template pool_of<double>> pool(this->upstream);
  std::vector<typename std::remove_reference_t<decltype(*pool)>::pointer> all;
  for (int i = 0; i < 50'000; ++i) all.push_back(pool->make(i));
  pool.reset();
  EXPECT_EQ(*all[49'999], 49'999.0);
  const auto copies = all;
  all.clear();
  EXPECT_NE(this->upstream.balance(), nothing);
}

TYPED_TEST(ref_pool, a_destructor_may_make_others) {
  struct phoenix {
    explicit phoenix(typename TestFixture::template pool_of<phoenix>& from, int lives) : pool(&from), left(lives) {}
    ~phoenix() {
      if (left > 0) static_cast<void>(pool->make(*pool, left - 1));  // ends at once, and waits for the end of this one
    }
    typename TestFixture::template pool_of<phoenix>* pool;
    int left;
  };
  typename TestFixture::template pool_of<phoenix> pool(this->upstream);
  static_cast<void>(pool.make(pool, 10'000));
  EXPECT_EQ(pool.live(), 0u);
  EXPECT_TRUE(pool.invariant());
  EXPECT_EQ(pool.growth_steps(), 1u);
}

TYPED_TEST(ref_pool, visits_live_objects) {
  typename TestFixture::template pool_of<int> pool(this->upstream);
  std::vector<typename decltype(pool)::pointer> all;
  for (int i = 0; i < 100; ++i) all.push_back(pool.make(i));
  for (std::size_t i = 0; i < 100; i += 2) all[i].reset();
  std::vector<int> seen;
  pool.for_each_live([&](int value) { seen.push_back(value); });
  ASSERT_EQ(seen.size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], 2 * i + 1);
}

TYPED_TEST(ref_pool, makes_objects_for_overwriting) {
  typename TestFixture::template pool_of<int> pool(this->upstream);
  *pool.make_for_overwrite() = 5;
  EXPECT_EQ(pool.live(), 0u);
}

template <class Threads>
class intrusive_pool : public ::testing::Test {
protected:
  template <class T, class Lifetime = construct_on_acquire, class Exhausted = throw_when_exhausted>
  using pool_of = ashlar::intrusive_pool<T, ashlar_test::intrusive_traits<Lifetime, Exhausted, Threads>>;
  template <class T>
  using pointer_to = ashlar::ref_ptr<T, Threads>;

  void SetUp() override { witness::start(); }
};
using thread_policies = ::testing::Types<one_thread, any_thread<>>;
TYPED_TEST_SUITE(intrusive_pool, thread_policies);

TYPED_TEST(intrusive_pool, grows_by_its_step) {
  for (const std::size_t step : {16u, 256u, 4096u, 100'000u}) {
    typename TestFixture::template pool_of<std::uint64_t> pool({.growth_count = step});
    std::vector<typename decltype(pool)::pointer> all;
    for (std::size_t i = 0; i < 3 * step / 2; ++i) all.push_back(pool.make(i));
    EXPECT_EQ(pool.growth_steps(), 2u);
    EXPECT_GE(pool.capacity(), 2 * step);
    all.clear();
    EXPECT_TRUE(pool.empty());
    pool.clear();
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_TRUE(pool.invariant());
  }
}

TYPED_TEST(intrusive_pool, make_with_constructs_by_the_given_function) {
  typename TestFixture::template pool_of<std::pair<int, int>> pool;
  const auto object = pool.make_with([](void* memory) { return ::new (memory) std::pair<int, int>(3, 4); });
  EXPECT_EQ(object->second, 4);
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(pool.make_with([](void*) -> std::pair<int, int>* { throw 5; })), int);
  EXPECT_EQ(pool.live(), 1u);
#endif
  static std::pair<int, int> elsewhere;
  ASHLAR_EXPECT_DEATH(static_cast<void>(pool.make_with([](void*) { return &elsewhere; })),
                      "ashlar: precondition: constructed an object at another address than the given one");
}

struct recycled : witness {
  explicit recycled(std::string first) : text(std::move(first)) {}
  void recycle() noexcept {
    text += '.';
    ++times;
  }
  std::string text;
  static inline int times = 0;
};

TYPED_TEST(intrusive_pool, keeps_objects_and_calls_the_hook) {
  recycled::times = 0;
  {
    typename TestFixture::template pool_of<recycled, keep_constructed<ashlar::reset_with<&recycled::recycle>>> pool;
    const recycled* const was = pool.make("first").get();
    EXPECT_EQ(recycled::times, 1);
    EXPECT_EQ(witness::live(), 1u);
    const auto again = pool.make("second");
    EXPECT_EQ(again.get(), was);
    EXPECT_EQ(again->text, "first.");
    const auto other = pool.make("third");
    EXPECT_EQ(other->text, "third");
    EXPECT_EQ(witness::made(), 2u);
  }
  EXPECT_EQ(recycled::times, 3);
  EXPECT_EQ(witness::live(), 0u) << "what was kept ends with the pool";
}

TYPED_TEST(intrusive_pool, what_is_kept_ends_when_its_memory_goes) {
  const auto hook = [](recycled&) noexcept {};
  using pool_type = typename TestFixture::template pool_of<recycled, keep_constructed<decltype(hook)>>;
  std::optional<pool_type> pool(std::in_place, ashlar::intrusive_pool_options{.growth_count = 1});
  std::vector<typename pool_type::pointer> all;
  for (int i = 0; i < 10; ++i) all.push_back(pool->make("x"));
  for (std::size_t i = 0; i < 4; ++i) all[i].reset();
  EXPECT_EQ(witness::live(), 10u);
  static_cast<void>(pool->trim());
  EXPECT_EQ(witness::live(), 6u);
  for (std::size_t i = 4; i < 7; ++i) all[i].reset();
  pool.reset();
  EXPECT_EQ(witness::live(), 6u);
  all.clear();
  EXPECT_EQ(witness::live(), 0u);
}

// A hook that makes an object of the bounded pool: the slot under recycling is not free yet.
template <class Threads>
struct reentrant {
  struct again {
    void operator()(reentrant& object) const noexcept { object.recycle(); }
  };
  using pool_type =
      ashlar::intrusive_pool<reentrant,
                             ashlar_test::intrusive_traits<keep_constructed<again>, null_when_exhausted, Threads>>;
  explicit reentrant(pool_type& from) : pool(&from) {}
  void recycle() noexcept {
    if (got != -1) return;
    const auto more = pool->make(*pool);
    got = more ? 1 : 0;
  }
  pool_type* pool;
  int got = -1;
};

TYPED_TEST(intrusive_pool, a_hook_may_use_the_pool) {
  using object = reentrant<TypeParam>;
  typename object::pool_type one({.max_count = 1});
  EXPECT_EQ(one.max_size(), 1u);
  auto a = one.make(one);
  a.reset();
  a = one.make(one);
  EXPECT_EQ(a->got, 0) << "the only slot was not free yet";
  typename object::pool_type two({.max_count = 2});
  auto b = two.make(two);
  b.reset();
  EXPECT_EQ(two.live(), 0u);
  EXPECT_TRUE(two.invariant());
}

struct shape {
  int corners = 0;
  friend auto& ref_count(shape& s) { return s.references; }
  std::atomic<std::uint32_t> references = 0;
};
struct square : shape {
  square() { corners = 4; }
  double side = 1;
};

TYPED_TEST(intrusive_pool, an_own_count_is_found_through_a_base) {
  typename TestFixture::template pool_of<square> pool;
  typename TestFixture::template pointer_to<shape> base = pool.make();
  EXPECT_EQ(base->references.load(), 1u);
  auto copy = base;
  EXPECT_EQ(base->references.load(), 2u);
  EXPECT_EQ(copy.use_count(), 2u);
  EXPECT_EQ(copy->corners, 4);
  base.reset();
  EXPECT_EQ(pool.live(), 1u) << "the copy holds it";
  copy.reset();
  EXPECT_EQ(pool.live(), 0u);
}

struct has_member {
  explicit has_member(int v) : value(v) {}
  std::atomic<std::uint32_t> references = 0;
  int value;
};

TYPED_TEST(intrusive_pool, an_own_count_may_be_named) {
  ashlar::intrusive_pool<has_member,
                         ashlar_test::intrusive_traits<construct_on_acquire, throw_when_exhausted, TypeParam,
                                                       ashlar::count::in_member<&has_member::references>>>
      pool;
  const auto a = pool.make(9);
  const auto b = a;
  EXPECT_EQ(a->references.load(), 2u);
  EXPECT_EQ(b->value, 9);
  // A base without the count would use another one.
  struct base {
    int value = 1;
  };
  struct counts_below : base {
    std::atomic<std::uint32_t> references = 0;
  };
  using below = ashlar::ref_ptr<counts_below, TypeParam, ashlar::count::in_member<&counts_below::references>>;
  static_assert(!std::is_convertible_v<below, ashlar::ref_ptr<base, TypeParam>>);
}

TYPED_TEST(intrusive_pool, clearing_what_lives_is_refused) {
  typename TestFixture::template pool_of<int> pool;
  const auto object = pool.make(1);
  ASHLAR_EXPECT_DEATH(pool.clear(), "ashlar: precondition: cleared a pool while objects of it live");
}

}  // namespace
