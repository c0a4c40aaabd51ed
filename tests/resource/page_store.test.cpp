// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the store of pages: what comes and goes makes no system call, what stays unneeded goes back in a second.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <list>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/slot_map.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/page_store.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/faulty_calls.hpp"
#include "tests/support/live_blocks.hpp"
#include "tests/support/pattern.hpp"
#include "tests/support/stress.hpp"

#if ASHLAR_POSIX
#include "tests/support/child.hpp"
#endif

namespace {

using ashlar_test::faulty_calls;

constexpr std::size_t kib = 1024;

// Each tag has a store of its own, of which the calls are counted.
template <class Tag>
using store_of = ashlar::basic_page_store<ashlar::os::basic_pages<faulty_calls<Tag>>>;

struct shared_store : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = std::size_t{1} << 18;
  static constexpr std::size_t largest = 100'000;
  static constexpr bool exhaustible = false;
  ashlar::page_store resource;
};

static_assert(!ashlar::divisible_resource<ashlar::page_store> && ashlar::keeps_blocks<ashlar::page_store>);

TEST(page_store, aligns_each_block_to_its_own_size) {
  ashlar::page_store store;
  std::vector<void*> blocks;
  for (std::size_t bytes = 1; bytes <= 64 * 1024 * kib; bytes *= 2) {
    blocks.push_back(store.allocate(bytes, 1));
    EXPECT_TRUE(ashlar::is_aligned(blocks.back(), std::min(bytes, 256 * kib)));
    std::memset(blocks.back(), 1, std::min(bytes, 100 * kib));
  }
  for (std::size_t bytes = 1; void* const each : blocks) {
    store.deallocate(each, bytes, 1);
    bytes *= 2;
  }
}

TEST(page_store, gives_small_blocks_of_one_span) {
  struct tag {};
  store_of<tag> store;
  std::vector<void*> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(store.allocate(kib, 8));
  const std::size_t calls = faulty_calls<tag>::faults.calls;
  std::ranges::sort(blocks);
  for (std::size_t i = 1; i < blocks.size(); ++i)
    EXPECT_EQ(ashlar::address_of(blocks[i]), ashlar::address_of(blocks[0]) + i * kib);
  for (void* const each : blocks) store.deallocate(each, kib, 8);
  EXPECT_EQ(faulty_calls<tag>::faults.calls, calls);
  EXPECT_EQ(store.trim(), 64 * kib) << "halves meet";
  EXPECT_EQ(faulty_calls<tag>::faults.mapped_bytes, 0u);
}

struct object {
  char bytes[64];
};

// The life of a resource with three blocks.
template <class R, class... Args>
void live(Args&&... args) {
  R resource(std::forward<Args>(args)...);
  void* blocks[3];
  for (void*& each : blocks) std::memset(each = resource.allocate(64, 16), 1, 64);
  for (std::size_t i = 3; i-- != 0;) resource.deallocate(blocks[i], 64, 16);
}

template <class Store>
void live_each() {
  live<ashlar::arena<Store>>();
  live<ashlar::stack_resource<Store>>();
  live<ashlar::pool_set<Store>>();
  live<ashlar::tlsf_resource<Store>>();
  live<ashlar::block_pool<Store>>(ashlar::block_pool_options{.cell_bytes = 64});
  live<ashlar::fixed_block_pool<64, 16, Store>>();
  ashlar::slot_map<object, Store> objects;
  objects.erase(objects.emplace());
}

TEST(page_store, serves_the_lives_of_resources_without_a_system_call) {
  struct tag {};
  for (int i = 0; i < 3; ++i) live_each<store_of<tag>>();
  const std::size_t calls = faulty_calls<tag>::faults.calls;
  for (int i = 0; i < 1000; ++i) live_each<store_of<tag>>();
  EXPECT_EQ(faulty_calls<tag>::faults.calls, calls);
}

template <class Store>
void build_and_destroy(std::size_t count) {
  using pool_type = ashlar::block_pool<Store>;
  pool_type pool({.cell_bytes = 64});
  std::list<int, ashlar::allocator<int, pool_type>> numbers(pool);
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(1);
}

TEST(page_store, serves_a_list_that_comes_and_goes_and_gives_it_back_within_a_second) {
  struct tag {};
  using store = store_of<tag>;
  auto& faults = faulty_calls<tag>::faults;
  constexpr std::size_t count = 40'000, bytes = count * 64;  // rounds much shorter than a window
  for (int i = 0; i < 3; ++i) build_and_destroy<store>(count);
  EXPECT_GE(store::retained_bytes(), bytes);
  const std::size_t calls = faults.calls;
  for (int i = 0; i < 3; ++i) build_and_destroy<store>(count);
  EXPECT_LE(faults.calls - calls, 10u) << "a window may end between; slabs by themselves make hundreds";
  for (int tenth = 0; tenth < 10; ++tenth) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (int i = 0; i < 64; ++i) live<ashlar::arena<store>>();
  }
  EXPECT_LE(store::retained_bytes(), 200 * kib);
}

TEST(page_store, joins_halves_that_come_back_in_different_windows) {
  struct tag {};
  store_of<tag> store;
  const auto wait = [&](int tenths) {
    for (; tenths != 0; --tenths) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      for (int i = 0; i < 64; ++i) store.deallocate(store.allocate(64 * kib, 8), 64 * kib, 8);
    }
  };
  void* const low = store.allocate(kib, 8);
  void* const high = store.allocate(kib, 8);
  store.deallocate(low, kib, 8);
  wait(2);
  store.deallocate(high, kib, 8);
  wait(12);
  EXPECT_LE(store.retained_bytes(), 64 * kib);
}

TEST(page_store, keeps_no_more_than_a_mebibyte_of_a_peak_that_does_not_return) {
  struct tag {};
  build_and_destroy<store_of<tag>>(200'000);
  EXPECT_LE(store_of<tag>::retained_bytes(), 1100 * kib);
}

TEST(page_store, gives_its_free_memory_for_a_request_that_the_system_refuses) {
  struct tag {};
  store_of<tag> store;
  store.deallocate(store.allocate(256 * kib, 8), 256 * kib, 8);
  auto& faults = faulty_calls<tag>::faults;
  EXPECT_NE(store.retained_bytes(), 0u);
  faults.maps.fail_from(0);
  EXPECT_EQ(store.try_allocate(8 * 1024 * kib, 8), nullptr);
  EXPECT_EQ(store.retained_bytes(), 0u);
  EXPECT_EQ(store.try_allocate(kib, 8), nullptr);
  faults.fail_never();
  store.deallocate(store.allocate(kib, 8), kib, 8);
  EXPECT_EQ(store.trim(), 64 * kib);
  EXPECT_EQ(faults.mapped_bytes, 0u);
}

TEST(page_store, keeps_whole_blocks_up_to_what_trim_retains) {
  struct tag {};
  store_of<tag> store;
  for (const std::size_t bytes : {64 * kib, 128 * kib, 256 * kib}) store.deallocate(store.allocate(bytes, 8), bytes, 8);
  static_cast<void>(store.trim(200 * kib));
  EXPECT_GT(store.retained_bytes(), 0u);
  EXPECT_LE(store.retained_bytes(), 200 * kib);
  static_cast<void>(store.trim());
  EXPECT_EQ(store.retained_bytes(), 0u);
}

// Where the system moves pages.
template <class Tag>
void move_large_blocks() {
  store_of<Tag> store;
  if constexpr (requires { store.try_move(nullptr, 1, 1, 1); } && ashlar::os::pages::releases_parts) {
    auto& faults = faulty_calls<Tag>::faults;
    constexpr std::size_t largest_chunk = sizeof(void*) == 8 ? 32 * 1024 * kib : 1024 * kib;
    std::size_t bytes = 70 * kib;
    void* p = store.allocate(bytes, 16);
    ashlar_test::write_pattern(p, bytes, 1);
    for (const std::size_t more : {100 * kib, 300 * kib, 3000 * kib, 40'000 * kib, 50'001 * kib}) {
      void* const moved = store.try_move(p, bytes, more, 16);
      ASSERT_NE(moved, nullptr);
      EXPECT_TRUE(moved != p && ashlar_test::has_pattern(moved, 70 * kib, 1));
      EXPECT_TRUE(ashlar::is_aligned(moved, more <= largest_chunk ? std::bit_ceil(more) : 4 * kib));
      std::memset(static_cast<std::byte*>(moved) + 70 * kib, 1, more - 70 * kib);
      p = moved, bytes = more;
    }
    faults.moves.fail_from(0);
    EXPECT_EQ(store.try_move(p, bytes, 2 * bytes, 16), nullptr);
    faults.fail_never();
    EXPECT_EQ(store.try_move(p, bytes, ashlar::max_size, 16), nullptr);
    EXPECT_TRUE(ashlar_test::has_pattern(p, 70 * kib, 1));
    store.deallocate(p, bytes, 16);
    void* const small = store.allocate(30 * kib, 16);
    EXPECT_EQ(store.try_move(small, 30 * kib, 300 * kib, 16), nullptr) << "a part of a span";
    store.deallocate(small, 30 * kib, 16);
  }
}

TEST(page_store, moves_large_blocks_by_their_pages) {
  struct tag {};
  move_large_blocks<tag>();
}

TEST(page_store, hands_blocks_from_thread_to_thread) {
  constexpr std::size_t rounds = ashlar_test::is_slow ? 500 : 5000;
  ashlar_test::on_threads(4, [](std::size_t who) {
    ashlar::page_store store;
    std::mt19937 random(static_cast<unsigned>(who));
    ashlar_test::live_blocks blocks(store);
    for (std::size_t i = 0; i < rounds; ++i)
      if (blocks.size() < 20 && random() % 2 == 0) ASSERT_TRUE(blocks.try_allocate(kib << random() % 9, 8));
      else if (blocks.size() != 0) blocks.free(blocks.size() - 1);
  });
}

template <class Tag>
struct counted_pages : ashlar::os::pages {
  static inline std::atomic<std::size_t> mapped = 0;
  static inline std::size_t most = ashlar::max_size;

  static void* map(std::size_t bytes, std::size_t alignment) noexcept {
    if (mapped + bytes > most) return nullptr;
    void* const p = ashlar::os::pages::map(bytes, alignment);
    if (p != nullptr) mapped += bytes;
    return p;
  }
  static bool release(void* p, std::size_t bytes) noexcept {
    mapped -= bytes;
    return ashlar::os::pages::release(p, bytes);
  }
};

// Takes and gives 30 blocks of one size after the other, more than a slot holds.
template <class Store>
void crowd(std::size_t seed) {
  Store pages;
  std::vector<void*> mine(30);
  const std::size_t bytes = kib << seed % 6;
  for (void*& p : mine) p = pages.allocate(bytes, 8);
  for (void* const p : mine) pages.deallocate(p, bytes, 8);
}

TEST(page_store, loses_no_block_of_threads_that_crowd) {
  struct tag {};
  using pages = counted_pages<tag>;
  using store = ashlar::basic_page_store<pages>;
  ashlar_test::on_threads(40, [](std::size_t who) {
    for (std::size_t i = 0; i < (ashlar_test::has_tsan ? 200 : 2000); ++i) crowd<store>(i + who);
  });
  EXPECT_LE(pages::mapped, 160u << 20) << "threads wait for one that is preempted";
  static_cast<void>(store::trim());
  EXPECT_EQ(pages::mapped, 0u);
}

#if ASHLAR_POSIX
TEST(page_store, is_whole_in_the_child_of_a_fork_beside_threads_inside) {
  struct tag {};
  using pages = counted_pages<tag>;
  using store = ashlar::basic_page_store<pages>;
  std::atomic<bool> is_over = false;
  std::thread forks([&] {
    for (int i = 0; i < (ashlar_test::has_tsan ? 3 : 50); ++i)
      EXPECT_TRUE(ashlar_test::child_does([] {
        for (std::size_t round = 0; round < 12; ++round) crowd<store>(round);
        const std::size_t before = pages::mapped;
        for (std::size_t round = 0; round < 120; ++round) crowd<store>(round);
        return pages::mapped <= before;
      }));
    is_over = true;
  });
  ashlar_test::on_threads(4, [&](std::size_t who) {
    for (std::size_t i = who; !is_over; ++i) crowd<store>(i);
  });
  forks.join();
}
#endif

TEST(page_store, maps_spans_by_the_group_for_a_pool_that_grows) {
  struct tag {};
  store_of<tag> store;
  std::vector<void*> slabs = {store.allocate(kib, 8)};
  for (int i = 0; i < 128; ++i) slabs.push_back(store.allocate(256 * kib, 8));  // 32 MiB
  constexpr bool has_groups = ashlar::os::pages::releases_parts && sizeof(void*) == 8;
  EXPECT_LE(faulty_calls<tag>::faults.calls, has_groups ? 64u : 512u);
  for (std::size_t bytes = kib; void* const each : slabs) store.deallocate(each, std::exchange(bytes, 256 * kib), 8);
}

TEST(page_store, gives_spans_never_in_use_for_a_request_that_the_system_refuses) {
  struct tag {};
  using pages = counted_pages<tag>;
  ashlar::basic_page_store<pages> store;
  void* const small = store.allocate(kib, 8);
  pages::most = pages::mapped;
  void* const large = store.try_allocate(pages::most / 2, 8);
  EXPECT_NE(large, nullptr);
  store.deallocate(small, kib, 8);
  store.deallocate(large, pages::most / 2, 8);
  static_cast<void>(store.trim());
  EXPECT_EQ(pages::mapped, 0u);
}

const bool tested = ashlar_test::conforms<shared_store>("page_store");

}  // namespace
