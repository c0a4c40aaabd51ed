// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of counters from pools: their cost, their owners, and reports of misuse.
#include <ashlar/face/counted_pool.hpp>

#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::counted_pool;
using ashlar::one_thread;
using ashlar::process_counted_pool;
using ashlar::spin_lock;
using ashlar::thread_cached;
using ashlar::detail::atomic_counter;
using ashlar::detail::most_owners;
using ashlar::detail::plain_counter;
using ashlar_test::counting_resource;
using ashlar_test::stress_rounds;

static_assert(std::is_same_v<counted_pool<>::counter_type, plain_counter>);
static_assert(std::is_same_v<process_counted_pool<>::counter_type, atomic_counter>,
              "its user does not choose the threads");
static_assert(std::is_same_v<counted_pool<ashlar::null_lock>::counter_type, plain_counter>);
static_assert(std::is_same_v<counted_pool<thread_cached>::counter_type, atomic_counter>);
static_assert(std::is_same_v<counted_pool<spin_lock, plain_counter>::counter_type, plain_counter>);
static_assert(std::is_empty_v<process_counted_pool<>>);

template <class Lock>
class counted_pool_with : public ::testing::Test {};

using locks = ashlar_test::types_of_build<::testing::Types<one_thread, thread_cached>,
                                          ::testing::Types<one_thread, spin_lock, std::mutex, thread_cached>>;
TYPED_TEST_SUITE(counted_pool_with, locks);

TYPED_TEST(counted_pool_with, counts_owners_and_takes_the_counter_back_from_the_last) {
  counted_pool<TypeParam> counts;
  auto* const owners = counts.make();
  owners->add();
  EXPECT_EQ(owners->owners(), 2u);
  EXPECT_FALSE(counts.drop(owners));
  EXPECT_EQ(counts.live(), 1u);
  EXPECT_TRUE(counts.drop(owners));
  EXPECT_EQ(counts.live(), 0u);
  EXPECT_TRUE(counts.invariant());
}

TYPED_TEST(counted_pool_with, a_counter_has_four_bytes_and_neighbours) {
  counted_pool<TypeParam> counts;
  constexpr std::size_t many = 10'000;
  std::set<typename counted_pool<TypeParam>::counter_type*> all;
  while (all.size() < many) all.insert(counts.make());
  EXPECT_EQ(counts.live(), many);
  std::size_t neighbours = 0;
  const std::size_t stride =
      ashlar::detail::static_geometry<4, 4>::get().cell_stride() / 4;  // at hardened, with a guard
  for (auto* const each : all) neighbours += all.count(each + stride);
  EXPECT_GT(neighbours, many - 10) << "but at the end of a slab";
  for (auto* const each : all) {
    EXPECT_TRUE(counts.owns(each));
    EXPECT_TRUE(counts.drop(each));
  }
  EXPECT_EQ(counts.live(), 0u);
}

TYPED_TEST(counted_pool_with, reserves_and_gives_back) {
  counted_pool<TypeParam> counts;
  EXPECT_EQ(counts.capacity(), 0u);
  counts.reserve(100'000);
  EXPECT_GE(counts.capacity(), 100'000u);
  EXPECT_GT(counts.trim(), 0u);
  EXPECT_EQ(counts.capacity(), 0u);
}

TYPED_TEST(counted_pool_with, releases_what_is_meant_to_go) {
  counted_pool<TypeParam> counts;
  for (int i = 0; i < 100; ++i) static_cast<void>(counts.make(7));
  counts.release();
  EXPECT_EQ(counts.live(), 0u);
  EXPECT_TRUE(counts.drop(counts.make()));
}

TYPED_TEST(counted_pool_with, serves_the_whole_process) {
  using counts = process_counted_pool<TypeParam>;
  const auto live = [] { return counts::with_pool([](auto& pool) { return pool.live(); }); };
  const std::size_t before = live();
  auto* const owners = counts::make(2);
  EXPECT_EQ(live(), before + 1);
  EXPECT_FALSE(counts::drop(owners));
  EXPECT_TRUE(counts::drop(owners));
  EXPECT_EQ(live(), before);
}

TYPED_TEST(counted_pool_with, a_counter_near_its_end_ends_the_process) {
  counted_pool<TypeParam> counts;
  auto* const owners = counts.make(most_owners - 1);
  owners->add();
  const std::string line = "ashlar: precondition: added an owner to an object with 2^31 - 1 owners";
  ASHLAR_EXPECT_LAST_WORDS(owners->add(), line);
  ASHLAR_EXPECT_LAST_WORDS(counts.make(0u - 3)->add(), line);
  auto* const again = ::new (static_cast<void*>(owners)) typename counted_pool<TypeParam>::counter_type(1);
  EXPECT_TRUE(counts.drop(again));
}

TEST(counted_pool, is_bounded_by_its_option) {
  counted_pool<> counts({.max_count = 3});
  std::array<plain_counter*, 3> all = {counts.make(), counts.make(), counts.make()};
  for (int again = 0; again < 1000; ++again) ASSERT_EQ(counts.try_make(), nullptr);
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(counts.make()), std::bad_alloc);
#endif
  EXPECT_TRUE(counts.drop(all[1]));
  all[1] = counts.try_make(5);
  ASSERT_NE(all[1], nullptr);
  EXPECT_EQ(all[1]->owners(), 5u);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(counts.drop(all[1]));
  for (plain_counter* const each : all) EXPECT_TRUE(counts.drop(each));
}

// Each thread makes counters, and drops one owner of each counter of all threads: the last of them takes it back.
template <class Make, class Drop>
void count_in_threads(Make make, Drop drop) {
  constexpr std::uint32_t threads = 4;
  const std::size_t rounds = stress_rounds(3000);
  std::vector<atomic_counter*> counters(threads * rounds);
  std::atomic<std::size_t> ended = 0;
  std::barrier made(threads);
  ashlar_test::on_threads(threads, [&](std::size_t who) {
    for (std::size_t round = 0; round < rounds; ++round) counters[who * rounds + round] = make(threads);
    made.arrive_and_wait();
    for (atomic_counter* const each : counters) ended += drop(each) ? 1 : 0;
  });
  EXPECT_EQ(ended.load(), threads * rounds);
}

TEST(counted_pool, any_thread_takes_a_counter_back) {
  counted_pool<thread_cached> cached;
  count_in_threads([&](std::uint32_t n) { return cached.make(n); }, [&](atomic_counter* c) { return cached.drop(c); });
  EXPECT_EQ(cached.live(), 0u);
  counted_pool<std::mutex> locked;
  count_in_threads([&](std::uint32_t n) { return locked.make(n); }, [&](atomic_counter* c) { return locked.drop(c); });
  EXPECT_EQ(locked.live(), 0u);
  using of_process = process_counted_pool<thread_cached>;
  count_in_threads([](std::uint32_t n) { return of_process::make(n); },
                   [](atomic_counter* c) { return of_process::drop(c); });
}

template <class Pool>
void refuse_what_is_no_counter(Pool& counts) {
  using counter_type = typename Pool::counter_type;
  const auto line = [](const std::string& words) { return "ashlar: " + words + ", pointer 0x*, resource 0x*, size 4"; };
  [[maybe_unused]] constexpr bool is_bound = std::is_same_v<Pool, process_counted_pool<one_thread>>;
  [[maybe_unused]] const std::string bound =
      "ashlar: precondition: used a pool of one_thread in a second thread, resource 0x*, size 4";
  auto* const owners = counts.make(2);
  auto* const gone = counts.make();
  EXPECT_TRUE(counts.drop(gone));
  counter_type foreign(2);
  auto* const inside = reinterpret_cast<counter_type*>(reinterpret_cast<std::byte*>(owners) + 2);
  // A tool that marks dead cells reports them first.
  if constexpr (!ashlar_test::has_asan) {
    ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(counts.drop(gone)), line("double_free: freed a cell that is free"));
    ASHLAR_EXPECT_LAST_WORDS(std::thread([&] { static_cast<void>(counts.drop(gone)); }).join(),
                             is_bound ? bound : line("double_free: freed a cell that is free"));
  }
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(counts.drop(&foreign)),
                           line("invalid_free: freed a pointer that is not of this pool"));
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(counts.drop(inside)),
                           line("misaligned_free: freed a pointer into the middle of a cell"));
  EXPECT_EQ(foreign.owners(), 2u);
  EXPECT_FALSE(counts.drop(owners));
  EXPECT_TRUE(counts.drop(owners));
}

TYPED_TEST(counted_pool_with, what_is_no_live_counter_is_reported_before_it_is_written_to) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  counted_pool<TypeParam> counts;
  refuse_what_is_no_counter(counts);
  process_counted_pool<TypeParam> of_process;
  refuse_what_is_no_counter(of_process);
}

TEST(counted_pool, a_counter_without_an_owner_is_reported) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  counted_pool<> counts;
  const std::string line = "ashlar: precondition: made a counter without an owner";
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(counts.make(0)), line);
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(process_counted_pool<>::make(0)), line);
}

TEST(counted_pool, a_counter_of_another_pool_is_reported) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  counted_pool<> counts;
  counted_pool<> other;
  auto* const owners = other.make(2);
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(counts.drop(owners)),
                           "ashlar: wrong_pool: freed a cell of another pool, pointer 0x*, resource 0x*, owner 0x*, "
                           "size 4");
  EXPECT_FALSE(other.drop(owners));
  EXPECT_TRUE(other.drop(owners));
}

TEST(counted_pool, counters_that_live_when_their_pool_ends_are_reported) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  static std::size_t leaked = 0;
  static_cast<void>(ashlar::set_leak_handler([](const ashlar::leaked_blocks& leak) noexcept { leaked = leak.bytes; }));
  {
    counted_pool<> counts;
    for (int i = 0; i < 5; ++i) static_cast<void>(counts.make());
  }
  static_cast<void>(ashlar::set_leak_handler(nullptr));
  EXPECT_EQ(leaked, 20u);
}

}  // namespace
