// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of pools of objects without a counter: every size and place of the count, and every order of ends.
#include <ashlar/face/ref_pool.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <memory>
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

#include "tests/face/witness.hpp"
#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/types_of_build.hpp"

namespace {

using ashlar::any_thread;
using ashlar::one_thread;
using ashlar_test::counting_resource;
using ashlar_test::nothing;
using ashlar_test::witness;
using counted = ashlar::resource_ref<counting_resource<>>;

// The promised cost of 15 million pointers, with their own 8 bytes.
template <class T>
inline constexpr std::size_t bytes_without_guard =
    ashlar::ref_pool<T>::bytes_per_object - ashlar::detail::slot_guard<sizeof(T), alignof(T)>::bytes;
static_assert(bytes_without_guard<double> == 12 && bytes_without_guard<int> == 8 && bytes_without_guard<char> == 5);
static_assert(!std::is_move_constructible_v<ashlar::ref_pool<int>>, "pointers lead to it");

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

}  // namespace
