// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of counts of owners: they reach zero once, and never by overflow.
#include <ashlar/detail/face/counter.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/death/last_words.hpp"
#include "tests/support/build.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::detail::atomic_counter;
using ashlar::detail::most_owners;
using ashlar::detail::plain_counter;

template <class Counter>
class counter : public ::testing::Test {};

using counters = ::testing::Types<plain_counter, atomic_counter>;
TYPED_TEST_SUITE(counter, counters);

static_assert(std::is_trivially_destructible_v<plain_counter> && std::is_trivially_destructible_v<atomic_counter>);
static_assert(!std::is_convertible_v<std::uint32_t, plain_counter>);

TYPED_TEST(counter, tells_which_owner_was_the_last) {
  TypeParam count(1);
  for (int i = 0; i < 5; ++i) count.add();
  EXPECT_EQ(count.owners(), 6u);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(count.drop());
  EXPECT_TRUE(count.drop());
  EXPECT_EQ(count.owners(), 0u);
}

TYPED_TEST(counter, may_start_with_many_owners) {
  TypeParam count(3);
  EXPECT_FALSE(count.drop());
  EXPECT_FALSE(count.drop());
  EXPECT_TRUE(count.drop());
}

// At every level: a count that wraps would end an object with owners.
TYPED_TEST(counter, ends_the_process_at_one_owner_too_many) {
  const std::string line = "ashlar: precondition: added an owner to an object with 2^31 - 1 owners";
  TypeParam nearly(most_owners - 2);
  nearly.add();
  nearly.add();
  EXPECT_EQ(nearly.owners(), most_owners);
  ASHLAR_EXPECT_LAST_WORDS(nearly.add(), line);
  for (std::uint32_t below_zero = 1; below_zero <= 3; ++below_zero) {
    TypeParam far_gone(0u - below_zero);
    ASHLAR_EXPECT_LAST_WORDS(far_gone.add(), line);
  }
}

TYPED_TEST(counter, a_count_without_owners_neither_gains_nor_loses_one) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  TypeParam none(0);
  ASHLAR_EXPECT_LAST_WORDS(none.add(), "ashlar: precondition: added an owner to an object without owners");
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(none.drop()),
                           "ashlar: precondition: dropped an owner of an object without owners");
}

// The last owner sees the writes of all others: TSan would report a race otherwise.
TEST(counter, exactly_one_of_many_threads_drops_last) {
  constexpr std::size_t threads = 4;
  for (std::size_t round = 0; round < ashlar_test::stress_rounds(500); ++round) {
    atomic_counter count(threads);
    std::vector<int> written(threads);
    std::atomic<int> last = 0;
    std::vector<std::thread> all;
    for (std::size_t who = 0; who < threads; ++who)
      all.emplace_back([&, who] {
        for (int i = 0; i < 100; ++i) {
          count.add();
          EXPECT_FALSE(count.drop());
        }
        written[who] = 1;
        if (!count.drop()) return;
        int sum = 0;
        for (const int each : written) sum += each;
        last += sum;
      });
    for (std::thread& each : all) each.join();
    ASSERT_EQ(last.load(), static_cast<int>(threads));
  }
}

}  // namespace
