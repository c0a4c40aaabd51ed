// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of misuse of object pools beyond the scenes of matrix/: slots never handed out, releases that race, and writes
// that hit a count.
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"
#include "tests/support/death.hpp"
#include "tests/support/pool_traits.hpp"

namespace {

using ashlar::any_thread;
using ashlar::construct_on_acquire;
using ashlar::fault;
using ashlar::one_thread;
using ashlar::throw_when_exhausted;
using ashlar_test::caught_in;

struct plain {
  std::uint64_t bytes[6] = {};
};
struct destroyed : plain {
  ~destroyed() { bytes[0] = 0; }
};
struct padded {
  std::uint64_t number = 0;
  std::uint32_t more = 0;  // leaves room for a count beside it
};

template <class T, std::size_t Capacity, class Threads>
struct acquired
    : ashlar::object_pool<T,
                          ashlar_test::object_traits<Capacity, construct_on_acquire, throw_when_exhausted, Threads>> {
  using acquired::object_pool::object_pool;
};
template <class T, class Threads>
struct in_a_block : acquired<T, ashlar::dynamic_capacity, Threads> {
  in_a_block() : acquired<T, ashlar::dynamic_capacity, Threads>(100) {}
};

// Hidden from tools, and from the compiler's knowledge of the memory.
void flip(void* object, std::ptrdiff_t at, std::size_t count = 1) {
  volatile unsigned char* const bytes = static_cast<unsigned char*>(object) + at;
  ashlar::detail::mark_readable(static_cast<unsigned char*>(object) + at, count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(bytes[i] ^ 1);
}

template <class Pool>
class object_pool_faults : public ::testing::Test {};
using kinds =
    ::testing::Types<acquired<plain, 100, one_thread>, acquired<destroyed, 100, any_thread<>>,
                     in_a_block<plain, one_thread>, in_a_block<destroyed, any_thread<>>,
                     acquired<plain, ashlar::growing, one_thread>, acquired<destroyed, ashlar::growing, any_thread<>>>;
TYPED_TEST_SUITE(object_pool_faults, kinds);

TYPED_TEST(object_pool_faults, a_slot_never_handed_out_is_free) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  using type = typename TypeParam::value_type;
  TypeParam pool;
  auto* const first = reinterpret_cast<std::byte*>(pool.acquire());
  auto* const next = reinterpret_cast<type*>(first + ashlar::detail::slot_guard<sizeof(type), alignof(type)>::stride);
  const auto seen = caught_in([&] { pool.release(next); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::double_free);
  EXPECT_EQ(seen->pointer, next);
  EXPECT_EQ(seen->resource, &pool);
}

// The counts of slots lie in front of the first object of a slab.
TEST(object_pool_writes, before_the_first_object_hit_no_count) {
  if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "slots have guards at hardened";
  auto& pool = *new ashlar::ref_pool<padded, one_thread>;
  auto first = pool.make();
  flip(first.get(), -16, 16);
  EXPECT_EQ(first.use_count(), 1u);
  const auto seen = caught_in([&] { ashlar::drop_reference<one_thread>(first.release()); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::underflow);
}

TEST(object_pool_writes, to_a_kept_object_are_its_own) {
  ashlar::object_pool<plain, ashlar_test::object_traits<10, ashlar::keep_constructed<>>> pool;
  plain* const kept = pool.acquire();
  pool.release(kept);
  flip(kept, 24);
  EXPECT_NE(pool.acquire()->bytes[3], 0u);
}

// Two threads release one object at once: one of them is the second, every time.
TEST(object_pool_race, of_two_releases_is_found) {
  if constexpr (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  const auto race = [] {
    acquired<destroyed, 4, any_thread<>> pool;
    destroyed* const object = pool.acquire();
    std::thread first([&] { pool.release(object); });
    std::thread other([&] { pool.release(object); });
    first.join();
    other.join();
  };
  const std::string line = "ashlar: double_free: released an object that is free, pointer 0x*, resource 0x*, size 48";
  for (int round = 0; round < (ashlar_test::has_tsan ? 3 : 30); ++round) ASHLAR_EXPECT_LAST_WORDS(race(), line);
}

}  // namespace
