// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads of one heap that start and end: live blocks and unsent frees at their end, threads that only free.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

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
