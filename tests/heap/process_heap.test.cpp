// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the heap of the process: before main and after it, threads that end late, forks, and the rules of malloc.
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/resident.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::process_heap;

struct blocks_of_process : ashlar_test::conformance_defaults {
  static constexpr bool exhaustible = false;
  ashlar::resource_ref<ashlar::process_heap_type> resource{process_heap()};
};

const bool tested = ashlar_test::conforms<blocks_of_process>("process_heap");

constinit void* taken_before_main = nullptr;
constinit bool is_right_before_main = false;

// Before the constructors of this program, those of the library among them.
__attribute__((constructor(101))) void use_before_main() {
  taken_before_main = process_heap().try_allocate(100);
  void* const other = process_heap().try_allocate(40'000);
  is_right_before_main = taken_before_main != nullptr && other != nullptr && process_heap().owns(other);
  process_heap().deallocate(other);
}

TEST(process_heap, serves_before_main) {
  EXPECT_TRUE(is_right_before_main);
  EXPECT_TRUE(process_heap().owns(taken_before_main));
  EXPECT_GE(process_heap().usable_size(taken_before_main), 100u);
}

TEST(process_heap, serves_after_main_from_the_heap_of_the_main_thread) {
  EXPECT_TRUE(ashlar_test::child_does([] {
    static void* const early = process_heap().try_allocate(100);
    struct last {
      ~last() {
        const bool is_mine = process_heap().is_mine(early);
        process_heap().deallocate(early);
        void* const late = process_heap().try_allocate(5000);
        ::_exit(is_mine && late != nullptr && process_heap().invariant() ? 0 : 1);
      }
    };
    static const last at_exit;
    std::exit(2);
    return false;
  }));
}

TEST(process_heap, sets_errno_in_the_calls_that_say_so) {
  constexpr std::size_t too_much = ashlar::max_size / 2;
  errno = 0;
  EXPECT_EQ(process_heap().try_allocate(too_much), nullptr);
  EXPECT_EQ(process_heap().try_allocate_zeroed(too_much), nullptr);
  EXPECT_EQ(errno, 0);
  EXPECT_EQ(process_heap().allocate_or_errno(too_much), nullptr);
  EXPECT_EQ(std::exchange(errno, 0), ENOMEM);
  EXPECT_EQ(process_heap().allocate_zeroed_or_errno(too_much), nullptr);
  EXPECT_EQ(std::exchange(errno, 0), ENOMEM);
  void* const p = process_heap().allocate_or_errno(10);
  EXPECT_EQ(process_heap().reallocate_or_errno(p, too_much), nullptr);
  EXPECT_EQ(std::exchange(errno, 0), ENOMEM);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{10}, std::size_t{70'000}, std::size_t{9} << 20})
    process_heap().deallocate(process_heap().allocate_or_errno(bytes));
  process_heap().deallocate(p);
  process_heap().deallocate(nullptr);
  EXPECT_EQ(errno, 0);
}

TEST(process_heap, reallocates_a_cell_in_place_while_half_of_it_is_used) {
  auto* const p = static_cast<char*>(process_heap().reallocate_or_errno(nullptr, 1000));
  std::strcpy(p, "text");
  void* const half = process_heap().reallocate_or_errno(p, 600);
  if (!ashlar_test::is_checked) EXPECT_EQ(half, p);
  process_heap().deallocate(process_heap().reallocate_or_errno(nullptr, 1000), 1000);
  char* const less = static_cast<char*>(process_heap().reallocate_or_errno(half, 100));
  EXPECT_NE(less, half);
  EXPECT_STREQ(less, "text");
  EXPECT_LT(process_heap().usable_size(less), 500u);
  char* const more = static_cast<char*>(process_heap().reallocate_or_errno(less, std::size_t{20} << 20));
  EXPECT_STREQ(more, "text");
  char* const last = static_cast<char*>(process_heap().reallocate_or_errno(more, 5));
  EXPECT_STREQ(last, "text");
  process_heap().deallocate(last, 5);
}

TEST(process_heap, ignores_wrong_sizes_where_nothing_is_checked) {
  if constexpr (ashlar_test::is_checked) GTEST_SKIP() << "a report";
  for (const std::size_t bytes : {std::size_t{24}, std::size_t{5000}, std::size_t{200'000}, std::size_t{9} << 20})
    process_heap().deallocate(process_heap().try_allocate(bytes), bytes / 3);
  EXPECT_TRUE(process_heap().invariant());
}

// Frees a block in each round of the destructors of keys, and takes others.
struct late_user {
  // ThreadSanitizer forgets the thread in the last one.
  static constexpr int most_rounds = PTHREAD_DESTRUCTOR_ITERATIONS - (ashlar_test::has_tsan ? 1 : 0);
  pthread_key_t key = {};
  std::atomic<int> ends = 0;

  struct of_thread {
    int rounds = 0;
    void* blocks[most_rounds] = {};
  };

  static void end_round(void* value) {
    auto* const mine = static_cast<of_thread*>(value);
    process_heap().deallocate(mine->blocks[mine->rounds]);
    process_heap().deallocate(process_heap().try_allocate(100 + static_cast<std::size_t>(mine->rounds) * 20'000));
    if (++mine->rounds < most_rounds) static_cast<void>(::pthread_setspecific(user.key, mine));
    else ++user.ends, process_heap().deallocate(mine);
  }

  void begin_thread() noexcept {
    auto* const mine = ::new (process_heap().try_allocate(sizeof(of_thread))) of_thread;
    for (void*& each : mine->blocks) each = process_heap().try_allocate(300);
    ASSERT_EQ(::pthread_setspecific(key, mine), 0);
  }

  static late_user user;
};
constinit late_user late_user::user;

TEST(process_heap, serves_threads_to_the_last_round_of_their_keys) {
  ASSERT_EQ(::pthread_key_create(&late_user::user.key, late_user::end_round), 0);
  const std::size_t parked = process_heap().parked();
  ashlar_test::on_threads(160, [](std::size_t) {
    thread_local std::vector<char> also_at_end(100);
    late_user::user.begin_thread();
  });
  EXPECT_EQ(late_user::user.ends, 160);
  EXPECT_TRUE(process_heap().invariant());
  EXPECT_GT(process_heap().parked(), parked);
  ::pthread_key_delete(late_user::user.key);
}

// Effects: calls `work(thread)` in each of `threads` threads `rounds` times: each waits for its turn.
void take_turns(int threads, int rounds, void (*work)(int thread)) {
  std::atomic<int> turn = 0;
  ashlar_test::on_threads(static_cast<std::size_t>(threads), [&](std::size_t who) {
    const int first = static_cast<int>(who);
    for (int mine = first; mine < threads * rounds; mine += threads) {
      for (int now = turn; now != mine; now = turn) turn.wait(now);
      work(first);
      ++turn;
      turn.notify_all();
    }
  });
}

// Effects: a request: some blocks of many sizes, all freed.
void serve_request(int seed) {
  std::array<void*, 3000> blocks;
  for (unsigned i = 0, x = static_cast<unsigned>(seed) + 1; i != blocks.size();
       ++i, x = x * 1'664'525 + 1'013'904'223) {
    const std::size_t bytes = 16 + (x >> 8) % (i % 10 == 0 ? 8000u : 600u);
    blocks[i] = process_heap().allocate(bytes);
    std::memset(blocks[i], seed, bytes);
  }
  for (void* each : blocks) process_heap().deallocate(each);
}

TEST(process_heap, threads_that_take_turns_share_few_heaps) {
  if (!process_heap().share_idle(true)) GTEST_SKIP() << "no thread takes the heap of an idle one here";
  EXPECT_TRUE(ashlar_test::child_does([] {
    const std::size_t before = process_heap().held_bytes();
    take_turns(64, 6, serve_request);
    const std::size_t held = process_heap().held_bytes() - before;
    static_cast<void>(process_heap().trim());
    const bool is_trimmed = process_heap().cached_bytes() == 0 && process_heap().invariant();
    if (held >= std::size_t{256} << 20 || !is_trimmed) std::fprintf(stderr, "%zu KiB by 64 threads\n", held / 1024);
    return held < std::size_t{256} << 20 && is_trimmed;
  }));
  static_cast<void>(process_heap().share_idle(false));
}

// Blocks that threads leave to each other: each has its size in front, and its low byte in all that follows.
class left_blocks {
public:
  // Effects: leaves a new block, and frees the one that another thread has left there. Returns: whether it is whole.
  bool exchange(unsigned random) {
    const std::size_t bytes = sizeof(std::size_t) + (random >> 8) % (random % 16 == 0 ? 100'000u : 900u);
    auto* const fresh = static_cast<unsigned char*>(process_heap().allocate(bytes));
    std::memset(fresh, static_cast<int>(bytes & 0xff), bytes);
    std::memcpy(fresh, &bytes, sizeof bytes);
    return is_whole(places_[random >> 23].exchange(fresh));
  }
  // Effects: frees all. Returns: whether they are whole.
  bool clear() {
    bool good = true;
    for (std::atomic<unsigned char*>& each : places_) good = is_whole(each.exchange(nullptr)) && good;
    return good;
  }

private:
  static bool is_whole(unsigned char* left) {
    if (left == nullptr) return true;
    std::size_t bytes = 0;
    std::memcpy(&bytes, left, sizeof bytes);
    bool good = true;
    for (std::size_t i = sizeof bytes; i < bytes; ++i) good = good && left[i] == (bytes & 0xff);
    process_heap().deallocate(left);
    return good;
  }

  std::array<std::atomic<unsigned char*>, 512> places_ = {};
};

TEST(process_heap, heaps_move_between_threads_while_the_process_trims_and_forks) {
  if (!process_heap().share_idle(true)) GTEST_SKIP() << "no thread takes the heap of an idle one here";
  EXPECT_TRUE(ashlar_test::child_does([] {
    left_blocks left;
    std::atomic<bool> good = true, ends = false;
    std::vector<std::thread> running;
    for (unsigned i = 0; i != 24; ++i)
      running.emplace_back([&, random = i]() mutable {
        while (!ends) {
          for (int calls = 0; calls != 300; ++calls)
            if (!left.exchange(random = random * 1'664'525 + 1'013'904'223)) good = false;
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
      });
    for (int i = 0; i != 30 && good; ++i) {
      static_cast<void>(process_heap().trim());
      if (!ashlar_test::child_does([&] { return left.exchange(7) && process_heap().invariant(); })) good = false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ends = true;
    for (std::thread& each : running) each.join();
    return left.clear() && good && process_heap().invariant();
  }));
  static_cast<void>(process_heap().share_idle(false));
}

// Handlers of others, installed after those of the library.
constinit bool handlers_allocate = false;
void use_in_handler() {
  if (!handlers_allocate) return;
  void* const p = process_heap().try_allocate(100);
  void* const large = process_heap().try_allocate(3'000'000);
  process_heap().deallocate(p);
  process_heap().deallocate(large);
}

TEST(process_heap, serves_the_handlers_of_a_fork) {
  ASSERT_EQ(::pthread_atfork(use_in_handler, use_in_handler, use_in_handler), 0);
  handlers_allocate = true;
  EXPECT_TRUE(ashlar_test::child_does([] { return process_heap().invariant(); }));
  EXPECT_TRUE(process_heap().invariant());
  std::thread([] {  // which has no heap at its fork
    EXPECT_TRUE(ashlar_test::child_does([] { return process_heap().try_allocate(10) != nullptr; }));
  })
      .join();
  handlers_allocate = false;
}

constexpr std::size_t much = std::size_t{64} << 20;

// Returns: bytes given back as a block of `much` bytes is freed, with `retain_bytes` retained and none later.
std::size_t given_back(std::size_t retain_bytes) {
  process_heap().set_options({.retain_bytes = retain_bytes, .decay_ms = 60'000});
  void* const p = process_heap().try_allocate(much);
  const std::size_t held = process_heap().held_bytes();
  process_heap().deallocate(p);
  return held - process_heap().held_bytes();
}

// In a child, since the heap is that of this program.
TEST(process_heap, has_limits_that_change) {
  EXPECT_TRUE(ashlar_test::child_does([] {
    static_cast<void>(process_heap().trim());  // a spare block goes before one is refused
    process_heap().set_options({.max_bytes = process_heap().held_bytes() + much / 2});
    const bool is_refused = process_heap().try_allocate(much) == nullptr;
    const bool is_granted = process_heap().try_allocate(much / 8) != nullptr;
    return is_refused && is_granted && given_back(4 * much) == 0 && given_back(0) >= much / 2 &&
           process_heap().invariant();
  }));
}

// No call of the owner follows, so the frees of another thread give back what is beyond the limit.
TEST(process_heap, keeps_no_more_than_the_limit_of_an_ended_thread_whose_blocks_are_freed) {
  EXPECT_TRUE(ashlar_test::child_does([] {
    std::vector<void*> blocks;
    const std::size_t before = ashlar_test::resident_bytes();
    std::thread([&] {
      for (std::size_t held = 0; held < much; held += 100'000)
        std::memset(blocks.emplace_back(process_heap().allocate(100'000)), 1, 100'000);
    }).join();
    for (void* const each : blocks) process_heap().deallocate(each);
    const std::size_t after = ashlar_test::resident_bytes();
    return after < before + much / 2;
  }));
}

// At level hardened, by its owner or by another thread: the next ones of its class are others.
TEST(process_heap, holds_freed_cells_back) {
  if (ashlar::checking_level < ashlar::checking::hardened) GTEST_SKIP() << "the last one is the next";
  for (const std::size_t bytes : {16u, 1000u, 3000u, 16'000u})
    for (const bool is_remote : {false, true}) {
      const std::size_t live = statistics_of(process_heap()).all.live_blocks;
      void* const freed = process_heap().allocate(bytes);
      const auto free_it = [&] { process_heap().deallocate(freed); };
      is_remote ? std::thread(free_it).join() : free_it();
      EXPECT_LE(statistics_of(process_heap()).all.live_blocks, live + 1) << "but for what a thread leaves";
      int came_back = 0;
      for (int i = 0; i < 100; ++i) {
        void* const other = process_heap().allocate(bytes);
        came_back += other == freed ? 1 : 0;
        process_heap().deallocate(other);
      }
      EXPECT_EQ(came_back, 0) << bytes << is_remote;
      EXPECT_TRUE(process_heap().invariant());
    }
  process_heap().trim();
  EXPECT_TRUE(process_heap().invariant());
}

// Returns: how many blocks there are memory for, all of which are free again.
std::size_t most_blocks_of(std::size_t bytes) {
  std::vector<void*> taken;
  while (void* const p = process_heap().try_allocate(bytes)) taken.push_back(p);
  for (void* const each : taken) process_heap().deallocate(each);
  return taken.size();
}

TEST(process_heap, refuses_nothing_for_cells_that_are_held_back) {
  EXPECT_TRUE(ashlar_test::child_does([] {
    process_heap().set_options({.max_bytes = process_heap().held_bytes() + (std::size_t{24} << 20)});
    const std::size_t once = most_blocks_of(16'000), others = most_blocks_of(4'000), again = most_blocks_of(16'000);
    return once > 100 && others > 3 * once && again + again / 50 >= once;
  }));
}

}  // namespace
