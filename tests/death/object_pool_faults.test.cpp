// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of releases of pointers to no live object of an object_pool: each is reported with one exact sentence.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/face/object_pool.hpp>

#include "tests/death/caught.hpp"
#include "tests/death/last_words.hpp"
#include "tests/support/build.hpp"
#include "tests/support/pool_traits.hpp"

namespace {

using ashlar::any_thread;
using ashlar::construct_on_acquire;
using ashlar::fault;
using ashlar::keep_constructed;
using ashlar::object_pool;
using ashlar::throw_when_exhausted;
using ashlar_test::caught_in;

struct cell {
  std::uint64_t bytes[6] = {};
};
struct destroyed_cell : cell {
  ~destroyed_cell() { bytes[0] = 0; }
};

template <class T, class Lifetime, class Threads>
struct inside : object_pool<T, ashlar_test::object_traits<3000, Lifetime, throw_when_exhausted, Threads>> {};
template <class T, class Lifetime, class Threads>
struct in_a_block
    : object_pool<T, ashlar_test::object_traits<ashlar::dynamic_capacity, Lifetime, throw_when_exhausted, Threads>> {
  in_a_block() : in_a_block::object_pool(3000) {}
};
template <class T, class Lifetime, class Threads>
struct in_slabs : object_pool<T, ashlar_test::object_traits<ashlar::growing, Lifetime, throw_when_exhausted, Threads>> {
  in_slabs() : in_slabs::object_pool({.growth_count = 500}) {}
};

template <class Pool>
class object_pool_faults : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }
};
using one = ashlar::one_thread;
using any = any_thread<>;
using kinds =
    ::testing::Types<inside<cell, construct_on_acquire, one>, in_a_block<cell, construct_on_acquire, one>,
                     in_slabs<cell, construct_on_acquire, one>, inside<destroyed_cell, keep_constructed<>, one>,
                     in_slabs<destroyed_cell, keep_constructed<>, one>,
                     inside<destroyed_cell, construct_on_acquire, any>, in_a_block<cell, construct_on_acquire, any>,
                     in_slabs<destroyed_cell, construct_on_acquire, any>>;
TYPED_TEST_SUITE(object_pool_faults, kinds);

std::string sentence(const std::string& what) { return "ashlar: " + what + ", pointer 0x*, resource 0x*, size 48"; }

template <class Pool>
auto* as_object(Pool&, void* p) {
  return static_cast<typename Pool::value_type*>(p);
}

fault kind_of(auto& pool, void* p) {
  const auto seen = caught_in([&] { pool.release(as_object(pool, p)); });
  EXPECT_TRUE(seen.has_value());
  if (!seen) return fault::precondition;
  EXPECT_EQ(seen->pointer, p);
  EXPECT_EQ(seen->resource, &pool);
  return seen->kind;
}

TYPED_TEST(object_pool_faults, each_has_its_sentence) {
  static std::array<std::byte, 64> in_static_memory;
  TypeParam pool;
  std::optional<TypeParam> other(std::in_place);
  auto* const of_other = other->acquire();
  auto* const object = pool.acquire();
  ASHLAR_EXPECT_LAST_WORDS((pool.release(object), pool.release(object)),
                           sentence("double_free: released an object that is free"));
  ASHLAR_EXPECT_LAST_WORDS(pool.release(as_object(pool, in_static_memory.data())),
                           sentence("invalid_free: released a pointer that is not of this pool"));
  ASHLAR_EXPECT_LAST_WORDS(pool.release(as_object(pool, reinterpret_cast<std::byte*>(object) + 8)),
                           sentence("misaligned_free: released a pointer into the middle of an object"));
  ASHLAR_EXPECT_LAST_WORDS(pool.release(of_other),
                           "ashlar: wrong_pool: released an object of another pool, pointer 0x*, resource 0x*, "
                           "owner 0x*, size 48");
  other.reset();
  EXPECT_EQ(kind_of(pool, of_other), fault::invalid_free) << "its pool is gone";
  EXPECT_TRUE(pool.invariant());
}

// The first release by the second owner looks right; the next one is the double release.
TYPED_TEST(object_pool_faults, a_double_release_after_reuse_is_seen_at_the_next) {
  TypeParam pool;
  auto* const first = pool.acquire();
  pool.release(first);
  auto* const again = pool.acquire();
  ASSERT_EQ(again, first);
  pool.release(first);
  EXPECT_EQ(kind_of(pool, again), fault::double_free);
}

TYPED_TEST(object_pool_faults, a_slot_never_handed_out) {
  TypeParam pool;
  auto* const first = pool.acquire();
  using type = std::remove_pointer_t<decltype(first)>;
  void* const next =
      reinterpret_cast<std::byte*>(first) + ashlar::detail::slot_guard<sizeof(type), alignof(type)>::stride;
  EXPECT_EQ(kind_of(pool, next), fault::double_free);
}

// Two threads release one object at once: one of them is the second, every time.
TEST(object_pool_race, a_race_of_two_releases_is_found) {
  if constexpr (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  const auto race = [] {
    object_pool<destroyed_cell, ashlar_test::object_traits<4, construct_on_acquire, throw_when_exhausted, any>> pool;
    destroyed_cell* const object = pool.acquire();
    std::thread first([&] { pool.release(object); });
    std::thread other([&] { pool.release(object); });
    first.join();
    other.join();
  };
  const std::string line = sentence("double_free: released an object that is free");
  for (int round = 0; round < (ashlar_test::has_tsan ? 3 : 30); ++round) ASHLAR_EXPECT_LAST_WORDS(race(), line);
}

}  // namespace
