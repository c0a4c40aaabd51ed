// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the stateless allocator over the process-wide pools: traits, every container, arrays, threads.
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/pool_allocator.hpp>

#include "tests/face/arrays_that_overflow.hpp"
#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::pool_allocator;

template <class T>
using pooled = pool_allocator<T>;
using traits = std::allocator_traits<pooled<int>>;

static_assert(std::is_same_v<pooled<int>, pool_allocator<int, ashlar::thread_cached>>, "safe without a further word");

static_assert(std::is_same_v<traits::rebind_alloc<long>, pooled<long>>);
static_assert(std::is_same_v<pool_allocator<int, std::mutex>::rebind<long>::other, pool_allocator<long, std::mutex>>);
static_assert(std::is_nothrow_default_constructible_v<pooled<int>> && std::is_trivially_copyable_v<pooled<int>>);
static_assert(std::is_nothrow_constructible_v<pooled<long>, pooled<int>>);
static_assert(noexcept(std::declval<pooled<int>&>().deallocate(nullptr, 1)));

template <class T>
std::size_t live_of() {
  return pooled<T>::with_pool([](auto& pool) { return pool.live(); });
}

struct of_200_bytes {
  alignas(8) char bytes[200];
};
struct also_of_200_bytes {
  double values[25];
};
struct alignas(64) of_256_aligned {
  char bytes[256];
};

TEST(pool_allocator, types_of_one_size_and_alignment_share_a_pool) {
  pooled<of_200_bytes> a;
  pooled<also_of_200_bytes> b;
  auto* const p = a.allocate(1);
  if (alignof(of_200_bytes) == alignof(also_of_200_bytes)) EXPECT_EQ(live_of<also_of_200_bytes>(), 1u);
  a.deallocate(p, 1);
  auto* const q = b.allocate(1);
  EXPECT_EQ(live_of<also_of_200_bytes>(), 1u);
  b.deallocate(q, 1);
  EXPECT_EQ(live_of<of_200_bytes>(), 0u);
}

TEST(pool_allocator, arrays_empty_ones_and_giants_come_from_operator_new) {
  struct giant {
    char bytes[64 * 1024 + 1];
  };
  pooled<of_200_bytes> a;
  for (const std::size_t n : {std::size_t{0}, std::size_t{2}, std::size_t{1000}}) {
    of_200_bytes* const p = a.allocate(n);
    EXPECT_NE(p, nullptr);
    EXPECT_EQ(live_of<of_200_bytes>(), 0u);
    a.deallocate(p, n);
  }
  pooled<giant> g;
  giant* const p = g.allocate(1);
  p->bytes[64 * 1024] = 1;
  g.deallocate(p, 1);
}

TEST(pool_allocator, a_node_costs_its_own_bytes) {
  struct two_pointers_and_an_int {
    void* links[2];
    int value;
  };
  const std::size_t before = live_of<two_pointers_and_an_int>();
  std::list<int, pooled<int>> numbers(1000);
  EXPECT_EQ(live_of<two_pointers_and_an_int>(), before + 1000);
  EXPECT_EQ(pooled<two_pointers_and_an_int>::with_pool([](auto& pool) { return pool.cell_bytes(); }),
            sizeof(two_pointers_and_an_int));
}

TEST(pool_allocator, an_overflowing_array_is_bad_array_new_length) {
  ashlar_test::refuses_arrays_that_overflow(pooled<of_200_bytes>(), true);
  ashlar_test::refuses_arrays_that_overflow(pooled<char>(), true);
}

TEST(pool_allocator, at_least_is_one_cell_or_an_array_of_so_many) {
  pooled<of_200_bytes> a;
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{7}}) {
    const ashlar::allocation_result<of_200_bytes*> got = a.allocate_at_least(n);
    EXPECT_NE(got.ptr, nullptr);
    EXPECT_EQ(got.count, n);
    EXPECT_EQ(live_of<of_200_bytes>(), n == 1 ? 1u : 0u);
    a.deallocate(got.ptr, got.count);
  }
}

// A user's own lock.
struct counted_lock {
  static inline int held = 0;
  void lock() noexcept { ++held; }
  void unlock() noexcept { --held; }
};

template <class Lock>
class pool_allocator_with : public ::testing::Test {};
using all_locks = ashlar_test::types_of_build<
    ::testing::Types<ashlar::one_thread, counted_lock, ashlar::thread_cached>,
    ::testing::Types<ashlar::one_thread, ashlar::spin_lock, std::mutex, counted_lock, ashlar::thread_cached>>;
TYPED_TEST_SUITE(pool_allocator_with, all_locks);

TYPED_TEST(pool_allocator_with, retains_slabs_by_its_policy) {
  struct of_1000_bytes {
    char bytes[1000];
  };
  using allocator = pool_allocator<of_1000_bytes, TypeParam>;
  const auto slabs = [] { return allocator::with_pool([](auto& pool) { return pool.slabs(); }); };
  const auto fill_and_empty = [] {
    allocator a;
    std::vector<of_1000_bytes*> all(5000);
    for (of_1000_bytes*& each : all) each = a.allocate(1);
    for (of_1000_bytes* const each : all) a.deallocate(each, 1);
    if constexpr (requires { a.flush(); }) a.flush();
  };
  allocator::with_pool([](auto& pool) { pool.retain(ashlar::never_release); });
  fill_and_empty();
  EXPECT_GE(slabs(), 5000u / 262);
  allocator::with_pool([](auto& pool) { pool.retain(ashlar::release_now); });
  EXPECT_LE(slabs(), 1u) << "what a cell at hand lies in";
  fill_and_empty();
  EXPECT_LE(slabs(), 1u);
  static_cast<void>(allocator::with_pool([](auto& pool) { return pool.trim(); }));
  EXPECT_EQ(slabs(), 0u);
}

// Its stack, and so the addresses of its thread-local variables, may go to the next thread.
TEST(thread_binding, takes_no_thread_for_one_that_has_ended) {
  ASHLAR_EXPECT_DEATH(
      {
        ashlar::detail::thread_binding binding;
        std::thread([&] { binding.expect_own_thread(&binding, 40); }).join();
        std::thread([&] { binding.expect_own_thread(&binding, 40); }).join();
      },
      "ashlar: precondition: used a pool of one_thread in a second thread, resource 0x*, size 40");
}

// Whichever comes first, in every run: with a container of its own, and only to ask.
TEST(pool_allocator, of_one_thread_reports_its_first_foreign_thread) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  using alone = pool_allocator<of_200_bytes, ashlar::one_thread>;
  [[maybe_unused]] const char* const line =
      "ashlar: precondition: used a pool of one_thread in a second thread, resource 0x*, size 200";
  of_200_bytes* const p = alone().allocate(1);
  ASHLAR_EXPECT_DEATH(std::thread([] { static_cast<void>(alone().allocate(1)); }).join(), line);
  ASHLAR_EXPECT_DEATH(std::thread([p] { alone().deallocate(p, 1); }).join(), line);
  ASHLAR_EXPECT_DEATH(std::thread([] { alone::with_pool([](auto&) {}); }).join(), line);
  using by_another_name = pool_allocator<also_of_200_bytes, ashlar::null_lock>;
  ASHLAR_EXPECT_DEATH(std::thread([] { static_cast<void>(by_another_name().allocate(1)); }).join(), line);
  alone().deallocate(p, 1);
}

}  // namespace
