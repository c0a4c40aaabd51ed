// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads of one heap that start and end: live blocks and unsent frees at their end, threads that only free.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/heap/heap.hpp>

#include "tests/support/build.hpp"
#include "tests/support/deadline.hpp"
#include "tests/support/heap_blocks.hpp"
#include "tests/support/resident.hpp"
#include "tests/support/stamped_block.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::heap;
using ashlar_test::any_size;
using ashlar_test::deadline;
using ashlar_test::free;
using ashlar_test::goes_back;
using ashlar_test::in_a_thread;
using ashlar_test::is_watched;
using ashlar_test::make;
using ashlar_test::resident_bytes;
using ashlar_test::stamped_block;
using ashlar_test::stress_rounds;

TEST(heap_lifetimes, spans_are_freed_by_another_thread_while_their_owner_takes_new_ones) {
  constexpr std::size_t places = 64;
  const std::size_t spans = is_watched ? 10'000 : 100'000 * stress_rounds(1);
  heap<> all;
  std::vector<std::atomic<void*>> under_way(places);
  std::thread other([&] {
    for (std::size_t i = 0; i < spans; ++i) {
      void* p = nullptr;
      while ((p = under_way[i % places].exchange(nullptr)) == nullptr) std::this_thread::yield();
      all.deallocate(p);
    }
  });
  for (std::size_t i = 0; i < spans; ++i) {
    void* const p = all.allocate(40'000 + i * 97 % 200'000);
    if (i % 3 == 0) all.deallocate(all.allocate(40'000 + i * 89 % 200'000));
    void* none = nullptr;
    while (!under_way[i % places].compare_exchange_weak(none, p)) none = nullptr, std::this_thread::yield();
  }
  other.join();
  EXPECT_TRUE(all.invariant());
  EXPECT_TRUE(goes_back(all));
}

TEST(heap_lifetimes, a_thread_ends_with_any_number_of_frees_unsent) {
  constexpr std::size_t bytes = 80, batch = 64 * 1024 / bytes;
  const std::size_t step = 97 / stress_rounds(1) + 1;
  heap<> all;
  std::vector<void*> live;
  for (std::size_t frees = 1; frees < batch; frees += frees < 10 || frees > batch - 10 ? 1 : step) {
    for (std::size_t i = 0; i < frees; ++i) live.push_back(all.allocate(bytes));
    in_a_thread([&] {
      for (void* const p : live) all.deallocate(p);
    });
    live.clear();
    ASSERT_TRUE(goes_back(all)) << frees;
  }
}

// Two threads keep a queue full, one empties it. The queue holds the live bytes; the rest is the cost of remote frees.
class one_sided {
public:
  static constexpr std::size_t depth = 40'000, bytes = 2040;  // many segments

  void run(std::size_t messages) {
    const std::size_t before = resident_bytes();
    std::thread first([&] { produce(messages / 2); });
    std::thread second([&] { produce(messages / 2); });
    std::thread freer([&] { free_all(messages / 2 * 2, before); });
    for (std::thread* const each : {&first, &second, &freer}) each->join();
    EXPECT_LE(static_cast<double>(most_held_), 1.3 * bytes_live);
    if constexpr (ashlar_test::residency_means_something) {
      EXPECT_LE(static_cast<double>(most_resident_), 1.3 * bytes_live);
    }
    EXPECT_TRUE(goes_back(all_));
  }

private:
  static constexpr double bytes_live = double{depth} * bytes;

  void produce(std::size_t messages) {
    for (; messages != 0; --messages) push(make(all_, bytes, messages));
  }

  void push(const stamped_block& block) {
    for (;; std::this_thread::yield()) {
      const std::lock_guard hold(guard_);
      if (queue_.size() >= depth) continue;
      queue_.push_back(block);
      return;
    }
  }

  // Frees a part of a full queue, so that the live bytes stay nearly constant.
  void free_all(std::size_t messages, std::size_t before) {
    for (std::size_t done = 0; done < messages;) {
      std::vector<stamped_block> taken;
      {
        const std::lock_guard hold(guard_);
        if (queue_.size() == depth || done + queue_.size() == messages)
          while (!queue_.empty() && taken.size() < 100) taken.push_back(queue_.back()), queue_.pop_back();
      }
      if (taken.empty()) std::this_thread::yield();
      for (const stamped_block& each : taken) free(all_, each);
      if ((done += taken.size()) % 1000 == 0) measure(before);
    }
  }

  void measure(std::size_t before) {
    most_held_ = std::max(most_held_, all_.held_bytes());
    most_resident_ = std::max(most_resident_, resident_bytes() - std::min(before, resident_bytes()));
  }

  heap<> all_;
  std::mutex guard_;
  std::vector<stamped_block> queue_;
  std::size_t most_held_ = 0;
  std::size_t most_resident_ = 0;
};

TEST(heap_lifetimes, a_thread_that_only_frees_does_not_hoard) {
  one_sided().run(one_sided::depth + stress_rounds(100'000));
}

// A table of blocks: each new thread frees some, of any thread, and leaves as many.
class nursery {
public:
  explicit nursery(heap<>& all) : all_(all), blocks_(places) {}

  void live(unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 20; ++i) {
      stamped_block mine = make(all_, any_size(random), random());
      const std::size_t place = random() % places;
      {
        const std::lock_guard held(lock_);
        std::swap(mine, blocks_[place]);
      }
      if (mine.p != nullptr) free(all_, mine);
    }
  }

  void end() {
    for (const stamped_block& each : blocks_)
      if (each.p != nullptr) free(all_, each);
  }

  [[nodiscard]] std::size_t live_bytes() const {
    std::size_t bytes = 0;
    for (const stamped_block& each : blocks_) bytes += each.bytes;
    return bytes;
  }

private:
  static constexpr std::size_t places = 3000;

  heap<>& all_;
  std::mutex lock_;
  std::vector<stamped_block> blocks_;
};

// Each heap may retain as many free bytes as are live in it, and `retain_bytes`. Partly free slabs are fully resident,
// which at most doubles that here. A loss of a thousand bytes for each thread would be seen. At `hardened` freed blocks
// are filled, so that untouched pages are resident too, which doubles it again.
TEST(heap_lifetimes, ten_thousand_births_and_deaths_do_not_grow) {
  constexpr unsigned rows = 4;
  constexpr std::size_t retain_bytes = std::size_t{1} << 20;
  const auto births = static_cast<unsigned>(stress_rounds(10'000) / rows);
  heap<> all({.retain_bytes = retain_bytes});
  nursery blocks(all);
  const std::size_t before = resident_bytes();
  for (unsigned born = 0; born < births; ++born) {
    std::vector<std::thread> some;
    for (unsigned row = 0; row < rows; ++row) some.emplace_back([&, row] { blocks.live(born * rows + row); });
    for (std::thread& each : some) each.join();
  }
  EXPECT_LE(all.parked(), std::size_t{rows} + 1);
  if constexpr (ashlar_test::residency_means_something) {
    constexpr std::size_t most = ashlar::checking_level >= ashlar::checking::hardened ? 5 : 3;
    EXPECT_LE(resident_bytes(), before + most * blocks.live_bytes() + all.parked() * retain_bytes + retain_bytes);
  }
  blocks.end();
  EXPECT_TRUE(goes_back(all));
}

void use(heap<>& all, std::size_t blocks) {
  std::vector<void*> taken(blocks);
  for (std::size_t i = 0; i < blocks; ++i) taken[i] = all.allocate(1 + i % 900);
  for (void* const p : taken) all.deallocate(p);
}

heap<>* of_ending_threads = nullptr;

// Made before the thread's first block, so that it is destroyed after the thread's heap.
struct late_user {
  std::vector<stamped_block> blocks;
  ~late_user() {
    for (const stamped_block& each : blocks) free(*of_ending_threads, each);
    use(*of_ending_threads, 300);
  }
};

TEST(heap_lifetimes, thread_local_destructors_may_allocate_and_free) {
  heap<> all;
  of_ending_threads = &all;
  for (std::size_t round = 0; round < stress_rounds(50); ++round) {
    in_a_thread([&] {
      thread_local late_user late;
      for (std::uint64_t i = 0; i < 500; ++i) late.blocks.push_back(make(all, 120, i));
    });
    ASSERT_LE(all.parked(), 1u);
  }
  EXPECT_TRUE(goes_back(all));
}

// Keys with destructors that allocate, free, and set the key again, for more rounds than the system runs. (TSan ends
// itself in the last of them.)
struct restless_key {
  static constexpr std::uintptr_t rounds = ashlar_test::has_tsan ? 2 : 8;
  static inline pthread_key_t keys[2] = {};

  template <int I>
  static void run(void* value) {
    use(*of_ending_threads, 40);
    const std::uintptr_t left = reinterpret_cast<std::uintptr_t>(value) - 1;
    if (left != 0) ::pthread_setspecific(keys[I], reinterpret_cast<void*>(left));
  }
};

TEST(heap_lifetimes, destructors_of_keys_may_allocate_and_free_round_by_round) {
  heap<> all;
  of_ending_threads = &all;
  ASSERT_EQ(::pthread_key_create(&restless_key::keys[0], &restless_key::run<0>), 0);
  ASSERT_EQ(::pthread_key_create(&restless_key::keys[1], &restless_key::run<1>), 0);
  for (int i = 0; i < 50; ++i) {
    in_a_thread([&] {
      if (i % 2 == 0 || ashlar_test::has_asan) use(all, 40);  // otherwise they allocate first
      for (const pthread_key_t each : restless_key::keys)
        ::pthread_setspecific(each, reinterpret_cast<void*>(restless_key::rounds));
    });
    ASSERT_LE(all.parked(), 1u) << "after thread " << i;
  }
  for (const pthread_key_t each : restless_key::keys) ::pthread_key_delete(each);
  EXPECT_TRUE(goes_back(all));
}

TEST(heap_lifetimes, release_meets_threads_that_end) {
  const deadline hang;
  heap<> all;
  for (std::size_t round = 0; round < stress_rounds(300); ++round) {
    std::atomic<bool> done = false;
    void* const left = all.allocate(50);
    std::thread ending([&] {
      use(all, round % 2 == 0 ? 30 : 3000);
      all.deallocate(left);
      done.store(true, std::memory_order_release);  // pairs with the load below: all uses have happened
    });
    while (!done.load(std::memory_order_acquire)) std::this_thread::yield();
    all.release();
    ending.join();
    ASSERT_EQ(all.held_bytes(), 0u) << "in round " << round;
    ASSERT_TRUE(all.invariant());
  }
}

// Frees are noted but not sent, or sent but not drained, when it ends.
TEST(heap_lifetimes, the_end_of_a_heap_meets_threads_that_end) {
  const deadline hang;
  for (std::size_t round = 0; round < stress_rounds(300); ++round) {
    auto all = std::make_unique<heap<>>();
    std::vector<void*> left(round % 2 == 0 ? 30 : 3000);
    for (void*& each : left) each = all->allocate(100);
    std::atomic<bool> done = false;
    std::thread ending([&] {
      use(*all, left.size());
      for (void* const each : left) all->deallocate(each);
      done.store(true, std::memory_order_release);  // pairs with the load below: all uses have happened
    });
    while (!done.load(std::memory_order_acquire)) std::this_thread::yield();
    all.reset();
    ending.join();
  }
}

// Pages that are never touched.
TEST(heap_lifetimes, a_heap_beyond_2_to_the_33_bytes_counts_right) {
  if constexpr (sizeof(void*) == 4) GTEST_SKIP() << "there are not so many";
  if constexpr (is_watched) GTEST_SKIP() << "what watches would touch them";
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  heap<> all;
  std::vector<void*> blocks;
  for (const std::uint64_t bytes : {4 * gib + 8192, 4 * gib - 4096, gib / 2}) {
    void* const p = all.try_allocate(static_cast<std::size_t>(bytes));
    if (p == nullptr) GTEST_SKIP() << "the system does not lend so much";
    EXPECT_GE(all.usable_size(p), bytes);
    blocks.push_back(p);
  }
  EXPECT_GT(std::uint64_t{all.held_bytes()}, 8 * gib);
  in_a_thread([&] {
    for (void* const p : blocks) all.deallocate(p);
  });
  EXPECT_TRUE(goes_back(all));
}

}  // namespace
