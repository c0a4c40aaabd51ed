// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of heaps among threads and forks: huge blocks, blocks of other owners, and surveys.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap_threads/basic_heap.hpp>
#include <ashlar/detail/heap_threads/thread_heaps.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/heap_json.hpp>
#include <ashlar/heap/heap_map.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/heap/owner_heap.hpp>
#include <ashlar/heap/process_heap.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/os/system_calls.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"
#include "tests/support/deadline.hpp"
#include "tests/support/heap_blocks.hpp"
#include "tests/support/interleaved_calls.hpp"
#include "tests/support/json.hpp"
#include "tests/support/stamped_block.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::detail::basic_heap;
using ashlar_test::stamped_block;
using any_calls = basic_heap<ashlar::page_resource, ashlar::detail::threads_of_any_heap>;
using process_calls = basic_heap<ashlar::detail::process_pages, ashlar::detail::threads_of_process_heap>;

static_assert(std::is_base_of_v<any_calls, ashlar::heap<>> && sizeof(any_calls) == sizeof(ashlar::heap<>));
static_assert(std::is_base_of_v<process_calls, ashlar::process_heap_type>);
static_assert(!std::is_constructible_v<any_calls, ashlar::heap_options, ashlar::page_resource>);
static_assert(!std::is_default_constructible_v<ashlar::process_heap_type>);
static_assert(!std::is_destructible_v<ashlar::process_heap_type>);

struct of_any {
  ashlar::heap<> its = {};
  [[nodiscard]] auto& heap() noexcept { return its; }
};
struct of_process {
  [[nodiscard]] static auto& heap() noexcept { return ashlar::process_heap(); }
};

template <class Of>
class basic_heap_of : public testing::Test {
protected:
  Of of_;
};
using policies = testing::Types<of_any, of_process>;
TYPED_TEST_SUITE(basic_heap_of, policies);

// Takes, moves and frees huge blocks at random, each stamped at both ends.
void use_huge_blocks(auto& heap, unsigned seed) {
  std::minstd_rand random(seed);
  std::array<stamped_block, 6> blocks = {};
  const auto expect_intact = [](const stamped_block& each) { EXPECT_TRUE(each.p == nullptr || each.is_intact()); };
  for (std::size_t left = ashlar_test::stress_rounds(400); left != 0; --left) {
    stamped_block& each = blocks[random() % blocks.size()];
    stamped_block next{nullptr, (std::size_t{5} << 20) + random() % (std::size_t{30} << 20), random()};
    const auto what = random() % 4;
    expect_intact(each);
    if (what == 0) {
      heap.deallocate(std::exchange(each, {}).p);
      continue;
    }
    if (what == 1) heap.trim();
    next.p = heap.reallocate(each.p, next.bytes);
    ASSERT_TRUE(each.p == nullptr || std::memcmp(next.p, &each.stamp, sizeof each.stamp) == 0) << "with its contents";
    each = next;
    each.write();
  }
  for (const stamped_block& each : blocks) expect_intact(each), heap.deallocate(each.p);
}

TYPED_TEST(basic_heap_of, serves_huge_blocks_of_threads_that_take_move_and_free_them_at_once) {
  if (sizeof(void*) == 4) GTEST_SKIP() << "no address space for that";
  auto& heap = this->of_.heap();
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back([&heap, seed] { use_huge_blocks(heap, seed); });
  for (std::thread& each : threads) each.join();
  EXPECT_TRUE(heap.invariant());
}

// A thread that the system keeps busy makes no other wait: another takes and frees huge blocks and segments meanwhile.
TEST(basic_heap, calls_the_system_for_huge_blocks_without_a_lock_that_others_need) {
  struct during;
  constexpr std::size_t huge = std::size_t{5} << 20, most = std::size_t{1} << 20;
  auto& others = ashlar_test::interleaved_calls<during>::others;
  ashlar::heap<ashlar_test::interleaved_pages<during, ashlar::fresh::by_wish>> heap({.retain_bytes = most});
  others.begin([&] {
    void* const p = heap.allocate(huge);
    heap.deallocate(heap.reallocate(p, 2 * huge));
    heap.deallocate(heap.allocate(most));
  });
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(heap.allocate(huge));  // the tables grow
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = heap.reallocate(blocks[i], (i % 4 + 1) * 3 * most);
  for (void* const each : blocks) heap.deallocate(each);
  void* const p = heap.allocate(3 * huge);  // of spare blocks
  heap.deallocate(p);
  others.end();
  EXPECT_GT(others.meetings, 40u);
  EXPECT_EQ(others.waits, 0u);
  EXPECT_TRUE(heap.invariant());
  heap.trim();
  EXPECT_EQ(heap.held_bytes(), 0u);
}

// The owner of a block may be inside the system: its lock is held then, and no free by another thread waits for it.
TEST(basic_heap, frees_blocks_of_a_thread_that_the_system_keeps_busy) {
  if (!ashlar::detail::frees_travel) GTEST_SKIP() << "the freeing call checks the block under its owner's lock";
  struct during;
  constexpr std::size_t span = 100'000, cell = 1000;
  auto& others = ashlar_test::interleaved_calls<during>::others;
  ashlar::heap<ashlar_test::interleaved_pages<during, ashlar::fresh::by_wish>> heap({.retain_bytes = 0});
  std::vector<void*> theirs;
  for (int i = 0; i < 2000; ++i) theirs.push_back(heap.allocate(i % 4 == 0 ? span : cell));
  others.begin([&] {
    for (int i = 0; i < 20 && !theirs.empty(); ++i, theirs.pop_back()) heap.deallocate(theirs.back());
    heap.flush();
  });
  std::vector<void*> mine;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 200; ++i) mine.push_back(heap.allocate(span));
    for (void* const each : mine) heap.deallocate(each);
    mine.clear();
    heap.trim();
  }
  others.end();
  EXPECT_GT(others.meetings, 20u);
  EXPECT_EQ(others.waits, 0u);
  for (void* const each : theirs) heap.deallocate(each);
  EXPECT_TRUE(heap.invariant());
  heap.trim();
  EXPECT_EQ(heap.held_bytes(), 0u) << "none is lost";
}

// Counts the calls that give memory back, and begins something with the first one.
struct counted_givers : ashlar::os::system_calls {
  static inline std::atomic<unsigned> given = 0;
  static inline std::atomic<bool> has_begun = false;

  [[nodiscard]] static bool unmap(void* p, std::size_t bytes) noexcept {
    return count(), system_calls::unmap(p, bytes);
  }
  [[nodiscard]] static bool discard(void* p, std::size_t bytes) noexcept {
    return count(), system_calls::discard(p, bytes);
  }

private:
  static void count() {
    ++given;
    std::this_thread::sleep_for(std::chrono::milliseconds(has_begun.exchange(true) ? 3 : 100));
  }
};

// While another thread trims many segments, the owner has its heap between two of them.
TEST(owner_heap, is_let_in_between_the_segments_of_a_trim) {
  constexpr std::size_t blocks = 200, bytes = std::size_t{1} << 20;
  using pages = ashlar::basic_page_resource<ashlar::fresh::plain, ashlar::os::basic_pages<counted_givers>>;
  ashlar::owner_heap<pages> heap({.retain_bytes = 2 * blocks * bytes});
  unsigned seen = 0;
  std::atomic<bool> is_ready = false;
  std::thread owner([&] {
    std::vector<void*> taken;
    for (std::size_t i = 0; i < blocks; ++i) taken.push_back(heap.allocate(bytes));
    for (void* const each : taken) heap.deallocate(each);
    counted_givers::given = 0, counted_givers::has_begun = false;
    is_ready = true;
    while (!counted_givers::has_begun) std::this_thread::yield();
    void* const p = heap.allocate(3 * bytes);
    seen = counted_givers::given;
    heap.deallocate(p);
  });
  while (!is_ready) std::this_thread::yield();
  static_cast<void>(heap.trim_remote());
  owner.join();
  EXPECT_GT(counted_givers::given, 40u);
  EXPECT_LT(seen, counted_givers::given / 2);
  EXPECT_TRUE(heap.invariant());
}

#if !defined(_WIN32)
TEST(basic_heap, goes_on_in_parent_and_child_of_a_fork_after_its_release) {
  constexpr std::size_t huge = std::size_t{5} << 20;
  ashlar::heap<> heap;
  static_cast<void>(heap.allocate(huge));
  heap.release();
  const auto works = [&] {
    void* const p = heap.try_allocate(huge);
    heap.deallocate(p);
    return p != nullptr && heap.invariant();
  };
  EXPECT_TRUE(ashlar_test::child_does(works) && works());
}

// A request that is refused waits for calls of other threads, of which the child of a fork has none.
TEST(basic_heap, refuses_at_once_in_the_child_of_a_fork_during_refusals) {
  constexpr std::size_t most = std::size_t{64} << 20;
  ashlar::heap<> heap({.max_bytes = most});
  std::atomic<bool> is_over = false;
  const auto take_and_free = [&] {
    while (!is_over) heap.deallocate(heap.try_allocate(most / 3));
  };
  std::array<std::thread, 4> threads;
  for (std::thread& each : threads) each = std::thread(take_and_free);
  const auto is_refused = [&] {
    heap.deallocate(heap.try_allocate(most / 3));
    return heap.try_allocate(2 * most) == nullptr && heap.invariant();
  };
  for (int forks = 0; forks < 10; ++forks) EXPECT_TRUE(ashlar_test::child_does(is_refused));
  is_over = true;
  for (std::thread& each : threads) each.join();
  EXPECT_TRUE(heap.invariant());
}
#endif

using ashlar::process_heap;

// At level hardened a fork may see a cell of another thread while it is being freed or handed out.
TEST(owner_checks_of_threads, let_a_forked_child_go_on_with_the_blocks_of_a_busy_thread) {
  if constexpr (ashlar_test::has_tsan) GTEST_SKIP() << "forks of threads";
  std::vector<void*> kept(2000);
  std::atomic<int> step = 0;
  std::thread busy([&] {
    for (void*& each : kept) {
      each = process_heap().try_allocate(40);
      process_heap().deallocate(process_heap().try_allocate(40));
    }
    step = 1;
    while (step != 2) process_heap().deallocate(process_heap().try_allocate(40));
  });
  while (step != 1) std::this_thread::yield();
  for (int i = 0; i != 30; ++i)
    EXPECT_TRUE(ashlar_test::child_does([&] {
      ashlar_test::in_a_thread([&] {  // the next thread has the blocks of the busy one
        for (void* const each : kept) process_heap().deallocate(each);
        for (void*& each : kept) each = process_heap().try_allocate(40);
      });
      return true;
    }));
  step = 2;
  busy.join();
  for (void* const each : kept) process_heap().deallocate(each);
}

using ashlar::heap;
using ashlar::heap_statistics;
using ashlar::statistics_of;

constexpr bool sends = ashlar::checking_level < ashlar::checking::checked;

void expect_right_sums(heap<>& all, std::size_t live) {
  const heap_statistics sums = statistics_of(all);
  EXPECT_EQ(sums.all.live_blocks, live);
  EXPECT_EQ(sums.cached_bytes, 0u);
  EXPECT_EQ(sums.held_bytes, all.held_bytes());
  EXPECT_TRUE(sums.invariant());
  EXPECT_GE(sums.table_bytes,
            sizeof(ashlar::detail::thread_heap<ashlar::detail::extent_resource<ashlar::page_resource>>));
}

TYPED_TEST(basic_heap_of, estimates_the_cells_cached_by_other_threads_and_from_checked_on_counts_them) {
  auto& all = this->of_.heap();
  const std::size_t before = statistics_of(all).all.live_blocks;
  std::atomic<int> stage = 0;
  std::thread sleeper([&] {
    std::vector<void*> blocks;
    for (int i = 0; i < 3'000; ++i) blocks.push_back(all.try_allocate(64));
    for (std::size_t i = 0; i < 1'500; ++i) all.deallocate(blocks[i]);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
    for (std::size_t i = 1'500; i < 3'000; ++i) all.deallocate(blocks[i]);
  });
  while (stage != 1) std::this_thread::yield();
  const heap_statistics sums = statistics_of(all);
  const std::size_t live = sums.all.live_blocks - before;
  std::size_t visited = 0;
  all.for_each_live([&](void*, std::size_t) { ++visited; });
  EXPECT_TRUE(sums.invariant());
  EXPECT_EQ(sums.held_bytes, all.held_bytes());
  EXPECT_EQ(visited, sums.all.live_blocks);
  if (sends) {
    EXPECT_TRUE(live >= 3'000 && live < 3'064) << "what is at hand counts as live";
    EXPECT_NEAR(static_cast<double>(sums.cached_bytes), 1'500 * 64.0, 2.0 * ashlar::detail::slice_bytes);
    // Of cells that the heap of the process has had before, these may have no sampled address.
    if (std::is_same_v<TypeParam, of_any>) EXPECT_GT(sums.cached_bytes, 0u);
  } else {
    EXPECT_TRUE(live == 1'500 && sums.cached_bytes == 0);
  }
  stage = 2;
  sleeper.join();
  EXPECT_EQ(statistics_of(all).all.live_blocks, before);
}

TEST(basic_heap, counts_a_cached_segment_as_spare) {
  heap<> all;
  ashlar_test::in_a_thread([&] { all.deallocate(all.allocate(3'000'000)); });  // a whole segment
  void* const huge = all.allocate(6'000'000);  // the parked heap gives its free memory up for it
  const heap_statistics sums = statistics_of(all);
  EXPECT_EQ(sums.huge.spare_bytes, ashlar::detail::segment_bytes);
  EXPECT_TRUE(sums.invariant() && sums.held_bytes == all.held_bytes());
  all.deallocate(huge);
}

#if ASHLAR_HAS_EXCEPTIONS
TEST(basic_heap, releases_every_part_if_the_callback_throws) {
  heap<> all;
  void* theirs = nullptr;
  ashlar_test::in_a_thread([&] { theirs = all.allocate(5'000); });
  const std::vector<void*> blocks{theirs, all.allocate(100), all.allocate(5'000'000)};
  for (int after = 0; after < 200; after += 9) {
    int left = after;
    const auto throw_once = [&](const auto&...) {
      if (left-- == 0) throw after;
    };
    const auto expect_whole = [&](auto&& look) {
      left = after % 3;
      EXPECT_THROW(look(), int);
      EXPECT_TRUE(all.invariant());
      all.deallocate(all.allocate(50));
    };
    expect_whole([&] { all.for_each_live([&](void* p, std::size_t) { throw_once(p); }); });
    expect_whole([&] { all.inspect([&](const ashlar::heap_region& piece) { throw_once(piece); }); });
    expect_whole([&] {
      left = after;
      ashlar::write_heap_svg(all, throw_once);
      throw after;  // thrown here when the picture has fewer parts
    });
  }
  for (void* const each : blocks) all.deallocate(each);
  expect_right_sums(all, 0);
}
#endif

TEST(basic_heap, may_be_written_down_while_threads_go_on) {
  heap<> all;
  std::atomic<bool> is_over = false;
  std::atomic<int> running = 0;
  std::vector<std::thread> others;
  for (unsigned i = 0; i < 3; ++i)
    others.emplace_back([&, i] {
      std::mt19937 random(i);
      std::vector<void*> mine(200);
      ++running;
      while (!is_over) {
        void*& place = mine[random() % mine.size()];
        all.deallocate(std::exchange(place, all.allocate(ashlar_test::size_of_any_kind(random))));
      }
      for (void* const p : mine) all.deallocate(p);
    });
  while (running != 3) std::this_thread::yield();
  for (std::size_t i = 0; i < ashlar_test::stress_rounds(8); ++i) {
    std::string json;
    std::size_t written = 0;
    ashlar::write_json(statistics_of(all), [&](std::string_view piece) { json += piece; });
    EXPECT_TRUE(ashlar_test::json(json).is_valid());
    ashlar::write_heap_svg(all, [&](std::string_view piece) { written += piece.size(); });
    ashlar::write_heap_html(all, [&](std::string_view piece) { written += piece.size(); });
    EXPECT_GT(written, 10'000u);
    all.for_each_live([&](void* p, std::size_t) { written += p == nullptr ? 1 : 0; });
    EXPECT_TRUE(statistics_of(all).invariant());
  }
  is_over = true;
  for (std::thread& each : others) each.join();
  expect_right_sums(all, 0);
}

// A fork that held the locks of the other heap would wait for the callback, which waits for them.
TEST(basic_heap, callbacks_use_another_heap_while_a_thread_forks) {
  using ashlar::detail::fork_participants;
  using ashlar::detail::fork_step;
  static std::atomic<bool> is_taking_locks = false;
  static ashlar::detail::fork_participant watcher{
      .before = [](void*, fork_step step) noexcept { is_taking_locks = step != fork_step::outer_locks; },
      .in_parent = [](void*) noexcept {},
      .in_child = [](void*) noexcept {}};
  const ashlar_test::deadline hang;
  fork_participants::enter(watcher);
  heap<> visited, other;
  void* const live = visited.allocate(100);
  other.deallocate(other.allocate(100));
  std::vector<std::thread> forks;
  unsigned calls = 0;
  const auto fork_beside = [&] {
    if (calls++ != 0) return;
    static std::atomic<bool> begins;
    begins = false;
    is_taking_locks = false;
    std::thread forking([] {
      begins = true;
      EXPECT_TRUE(ashlar_test::child_does([] { return true; }));
    });
    while (!begins) std::this_thread::yield();
    for (int i = 0; i < 20 && !is_taking_locks; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    other.deallocate(other.allocate(std::size_t{5} << 20));
    EXPECT_FALSE(is_taking_locks) << "the fork waits for the callback, without a lock";
    forks.push_back(std::move(forking));
  };
  visited.for_each_live([&](void*, std::size_t) { fork_beside(); });
  calls = 0;
  visited.inspect([&](const ashlar::heap_region&) { fork_beside(); });
  for (std::thread& each : forks) each.join();
  visited.deallocate(live);
  fork_participants::leave(watcher);
}

}  // namespace
