// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of misuse of object pools beyond the scenes of matrix/: slots never handed out, and releases that race.
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/face/object_pool.hpp>

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
