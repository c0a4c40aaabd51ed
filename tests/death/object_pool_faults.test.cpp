// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of releases of pointers to no live object of an object_pool: each is reported with one exact sentence.
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slots/slot_guard.hpp>
#include <ashlar/face/exhausted.hpp>
#include <ashlar/face/lifetime.hpp>
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

TYPED_TEST(object_pool_faults, a_double_release_at_once) {
  TypeParam pool;
  auto* const object = pool.acquire();
  pool.release(object);
  EXPECT_EQ(kind_of(pool, object), fault::double_free);
  ASHLAR_EXPECT_LAST_WORDS(pool.release(object), sentence("double_free: released an object that is free"));
  EXPECT_TRUE(pool.invariant());
}

TYPED_TEST(object_pool_faults, a_double_release_1024_releases_later_and_with_another_between) {
  TypeParam pool;
  std::vector<decltype(pool.acquire())> all(2 * 1025);
  for (auto& each : all) each = pool.acquire();
  for (std::size_t i = 0; i < all.size(); i += 2) pool.release(all[i]);
  EXPECT_EQ(kind_of(pool, all[0]), fault::double_free);
  EXPECT_EQ(kind_of(pool, all[1024]), fault::double_free);
  EXPECT_EQ(kind_of(pool, all[2048]), fault::double_free);
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

TYPED_TEST(object_pool_faults, foreign_memory_is_refused_unread) {
  static std::array<std::byte, 64> in_static_memory;
  std::array<std::byte, 64> on_the_stack = {};
  std::vector<std::byte> on_the_heap(4096);
  void* const no_access = ::mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TypeParam pool;
  TypeParam unused;
  void* const object = pool.acquire();
  for (void* const p : {static_cast<void*>(in_static_memory.data()), static_cast<void*>(on_the_stack.data()),
                        static_cast<void*>(on_the_heap.data()), no_access, reinterpret_cast<void*>(~std::uintptr_t{63}),
                        static_cast<void*>(nullptr)}) {
    EXPECT_EQ(kind_of(pool, p), fault::invalid_free);
    EXPECT_EQ(kind_of(unused, p), fault::invalid_free);
  }
  ASHLAR_EXPECT_LAST_WORDS(pool.release(as_object(pool, on_the_stack.data())),
                           sentence("invalid_free: released a pointer that is not of this pool"));
  EXPECT_NE(object, nullptr);
  ::munmap(no_access, 1 << 16);
}

TYPED_TEST(object_pool_faults, interior_pointers_are_misaligned) {
  TypeParam pool;
  auto* const at = reinterpret_cast<std::byte*>(pool.acquire());
  pool.acquire();
  for (const std::size_t offset : {1u, 8u, 16u, 24u, 47u, 49u})
    EXPECT_EQ(kind_of(pool, at + offset), fault::misaligned_free) << offset;
  ASHLAR_EXPECT_LAST_WORDS(pool.release(as_object(pool, at + 8)),
                           sentence("misaligned_free: released a pointer into the middle of an object"));
}

TYPED_TEST(object_pool_faults, an_object_of_another_pool_is_that_pools) {
  TypeParam mine;
  std::optional<TypeParam> yours(std::in_place);
  auto* const object = yours->acquire();
  mine.acquire();
  EXPECT_EQ(kind_of(mine, object), fault::wrong_pool);
  ASHLAR_EXPECT_LAST_WORDS(mine.release(object),
                           "ashlar: wrong_pool: released an object of another pool, pointer 0x*, resource 0x*, "
                           "owner 0x*, size 48");
  yours.reset();
  EXPECT_EQ(kind_of(mine, object), fault::invalid_free) << "its pool is gone";
}

TYPED_TEST(object_pool_faults, a_handle_cannot_release_what_was_released_behind_its_back) {
  TypeParam pool;
  auto handle = pool.make();
  pool.release(handle.get());
  EXPECT_EQ(kind_of(pool, handle.get()), fault::double_free);
  static_cast<void>(handle.release());
}

TYPED_TEST(object_pool_faults, correct_use_reports_nothing) {
  TypeParam pool;
  const auto seen = caught_in([&] {
    for (int round = 0; round < 3; ++round) {
      std::array<decltype(pool.acquire()), 1000> all;
      for (auto& each : all) each = pool.acquire();
      for (std::size_t i = 0; i < all.size(); ++i) pool.release(all[(i * 617) % all.size()]);
    }
    pool.acquire();
  });
  EXPECT_FALSE(seen.has_value());
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
