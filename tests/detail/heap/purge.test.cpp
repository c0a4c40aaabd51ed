// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of what a heap gives back: the purge policy, and limits that several heaps and freeing threads share.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/huge_store.hpp>
#include <ashlar/detail/heap/purge.hpp>
#include <ashlar/detail/heap/retention_limit.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::detail::most_slices;
using ashlar::detail::slice_bytes;
using page_resource = ashlar::basic_page_resource<ashlar::fresh::plain>;  // no segment of an ended heap

constexpr std::size_t keep = std::size_t{4} << 20;

template <std::uint32_t DecayMs, std::size_t Keep = keep>
struct purge_after : ::testing::Test {
  std::byte* take(std::size_t length) {
    if (std::byte* const shelved = spans.take_free_span(length)) return shelved;
    ashlar::detail::fresh_block run = spans.take_block(length);
    if (run.data == nullptr && spans.grow(length)) run = spans.take_block(length);
    return run.data;
  }
  void fill(std::size_t count) {
    while (held.size() < count) held.push_back(take(4));
  }
  void free_down_to(std::size_t count) {
    for (; held.size() > count; held.pop_back()) idle.on_freed(spans.give_block(held.back()) * slice_bytes, lists);
  }
  // Returns: whether that took less than half a window: at level hardened on a busy machine it may not.
  [[nodiscard]] bool frees_in_an_instant_down_to(std::size_t count) {
    const auto start = std::chrono::steady_clock::now();
    free_down_to(count);
    return std::chrono::steady_clock::now() - start < std::chrono::milliseconds(DecayMs / 2);
  }
  [[nodiscard]] std::size_t spare() const { return spans.dirty_bytes() + spans.spare_bytes(); }

  ashlar::detail::extent_map<page_resource> space{ashlar::max_size, page_resource{}};
  ashlar::detail::span_store<page_resource> spans{space};
  ashlar::detail::small_store<page_resource> small{spans};
  ashlar::detail::huge_store<page_resource> huge{space, Keep, DecayMs};
  ashlar::detail::thread_cache lists;
  ashlar::detail::purge<page_resource> idle{spans, small, huge, Keep, DecayMs};
  std::vector<std::byte*> held;
};
using purge_test = purge_after<0>;
using purge_in_time = purge_after<60>;
using purge_of_all = purge_after<0, 0>;

// Tries `looks` several times: a machine that stops this thread between two looks makes one fail.
bool holds_in_a_try(bool (*looks)()) {
  for (int tries = 0; tries < 20; ++tries)
    if (looks()) return true;
  return false;
}

TEST(idle_window, tells_what_was_spare_throughout) {
  EXPECT_TRUE(holds_in_a_try([] {
    ashlar::detail::idle_window idle(60);
    const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(80)); };
    wait();                                                                     // the window begins with the first look
    bool good = idle.excess(100, 40, 0) == 0 && idle.excess(100, 40, 20) == 0;  // 80 at some time
    wait();
    good = idle.excess(100, 40, 0) == 40 && good;
    idle.begin_purge(40);
    idle.count_purged(30);
    good = idle.stuck() == 10 && good;
    wait();
    return idle.excess(40, 40, 0) == 0 && idle.stuck() == 0 && idle.excess(100, 40, 0) == 0 && good;  // a new window
  }));
}

TEST(most_cached_segments, are_two_within_the_limit_and_one_for_each_request) {
  using ashlar::detail::most_cached_segments;
  using ashlar::detail::segment_bytes;
  EXPECT_EQ(most_cached_segments(0, 0), 0u);
  EXPECT_EQ(most_cached_segments(5, 0), 5u);
  EXPECT_EQ(most_cached_segments(9 * segment_bytes, 0), 2 * segment_bytes);
  EXPECT_EQ(most_cached_segments(0, 1), segment_bytes);
  EXPECT_EQ(most_cached_segments(9 * segment_bytes, 5), 5 * segment_bytes);
}

// Less than a segment of free memory is nothing to the frees of others, and does not keep the owner from its purge.
TEST_F(purge_in_time, purges_beside_frees_of_others) {
  ashlar::detail::purge<page_resource> little{spans, small, huge, 0, 60};
  fill(13);
  for (; !held.empty(); held.pop_back()) little.on_freed(spans.give_block(held.back()) * slice_bytes, lists);
  constexpr std::size_t freed_between_looks = std::size_t{1} << 20;  // so much may have been in use meanwhile
  for (int i = 0; i < 400 && spare() > freed_between_looks; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    little.on_arrived(ashlar::detail::segment_bytes, lists);
    little.on_freed(freed_between_looks, lists);
  }
  EXPECT_LE(spare(), freed_between_looks);
}

TEST_F(purge_test, keeps_as_much_as_is_live_and_the_retention_limit) {
  fill(400);
  free_down_to(210);
  EXPECT_EQ(spare(), 190 * 4 * slice_bytes) << "less than is live";
  free_down_to(20);
  EXPECT_LT(spare(), 60 * 4 * slice_bytes) << "five times what is live was free";
  free_down_to(0);
  EXPECT_GE(spare(), keep / 4) << "whole segments go at once, and the first is shorter";
  EXPECT_TRUE(spans.invariant() && small.invariant());
}

TEST_F(purge_test, keeps_more_where_what_it_gave_back_is_wanted_again) {
  std::size_t least = 0;
  for (int swing = 0; swing < 12; ++swing) {
    fill(400);
    free_down_to(0);
    if (swing == 0) least = spare();
  }
  EXPECT_LT(least, 200 * 4 * slice_bytes);
  EXPECT_GT(spare(), 390 * 4 * slice_bytes) << "all that each swing needs";
}

TEST_F(purge_of_all, learns_nothing_from_refaults) {
  for (int swing = 0; swing < 12; ++swing) {
    fill(400);
    free_down_to(0);
    EXPECT_LT(spare(), 40 * 4 * slice_bytes) << "a tenth, at each swing";
  }
  idle.clear();
}

TEST_F(purge_test, forgets_refaults_when_its_retained_memory_is_unused) {
  const auto swing_through = [&](std::size_t blocks, int times) {
    for (int swing = 0; swing < times; ++swing) {
      fill(blocks);
      free_down_to(0);
    }
  };
  swing_through(400, 12);
  const std::size_t kept = spare();
  swing_through(50, 4);
  EXPECT_EQ(spare(), kept) << "it may be wanted yet";
  swing_through(50, 400);
  EXPECT_LT(spare(), 150 * 4 * slice_bytes);
  idle.clear();
}

TEST_F(purge_in_time, keeps_no_more_of_what_other_threads_free_than_the_retention_limit) {
  ashlar::detail::purge<page_resource> remote{spans, small, huge, 4 * keep, 60};
  fill(400);
  for (std::size_t freed = 0; freed < 400; ++freed, held.pop_back()) {
    remote.on_arrived(spans.give_block(held.back()) * slice_bytes, lists);
    if (freed % 40 == 39) std::this_thread::sleep_for(std::chrono::milliseconds(70));
  }
  EXPECT_LT(spare(), 9 * keep) << "with what was freed since the last window began";
}

TEST_F(purge_in_time, keeps_what_is_wanted_again_and_again) {
  for (int swing = 0; swing < 10; ++swing) {
    fill(400);
    if (frees_in_an_instant_down_to(50)) ASSERT_EQ(spare(), 350 * 4 * slice_bytes) << swing;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

using purge_in_a_second = purge_after<1000>;

TEST_F(purge_in_a_second, gives_back_at_once_as_little_of_a_peak_is_live) {
  fill(400);
  if (frees_in_an_instant_down_to(51)) EXPECT_EQ(spare(), 349 * 4 * slice_bytes) << "an eighth may grow again";
  free_down_to(10);
  EXPECT_LT(spare(), 4 * 4 * slice_bytes) << "an eighth of the live bytes, and what is not worth a call";
  EXPECT_LE(spans.segments(), 2u) << "heads of empty segments go too";
  fill(60);
  free_down_to(9);
  EXPECT_GE(spare(), 20 * 4 * slice_bytes) << "most of what is wanted again stays";
}

TEST_F(purge_in_a_second, gives_back_at_once_a_peak_that_others_have_freed) {
  fill(400);
  for (; held.size() > 10; held.pop_back()) idle.on_arrived(spans.give_block(held.back()) * slice_bytes, lists);
  EXPECT_LT(spare(), 8 * 4 * slice_bytes) << "an eighth of the live bytes, and what was freed since the last look";
}

// Returns: free bytes of all threads that may be resident.
std::size_t kept_in(const ashlar::heap<>& all) {
  const ashlar::heap_statistics sums = ashlar::statistics_of(all);
  return sums.free_bytes + sums.all.spare_bytes - sums.all.dropped_bytes + sums.all.live_bytes;
}

// Each thread allocates `bytes`, frees them again and goes on. Returns: the bytes retained then.
std::size_t kept_after_each_has_freed(std::size_t threads, std::size_t bytes, std::size_t block) {
  ashlar::heap<> all({.decay_ms = 0});
  std::atomic<std::size_t> full = 0, empty = 0;
  std::atomic<bool> is_over = false;
  std::vector<std::thread> users;
  for (std::size_t i = 0; i < threads; ++i)
    users.emplace_back([&] {
      std::vector<void*> mine(bytes / block);
      for (void*& p : mine) p = all.allocate(block);
      for (++full; full != threads;) std::this_thread::yield();
      for (void* const p : mine) all.deallocate(p);
      for (++empty; !is_over;) std::this_thread::yield();
    });
  while (empty != threads) std::this_thread::yield();
  const std::size_t kept = kept_in(all);
  is_over = true;
  for (std::thread& each : users) each.join();
  return kept;
}

TEST(purge, keeps_as_much_for_many_threads_as_for_one) {
  constexpr std::size_t mebi = std::size_t{1} << 20, threads = ashlar_test::is_slow ? 6 : 16;
  for (const std::size_t block : {std::size_t{1'000}, std::size_t{100'000}}) {
    std::size_t most = 0;  // a thread that does not run while all others free keeps less
    for (int attempt = 0; attempt < 3 && most <= 8 * mebi; ++attempt) {
      const std::size_t kept = kept_after_each_has_freed(threads, 16 * mebi, block);
      EXPECT_LT(kept, (16 + 4 * threads) * mebi) << block;
      most = std::max(most, kept);
    }
    EXPECT_GT(most, 8 * mebi) << block;
  }
}

TEST(huge_retention, allows_what_is_live_what_is_retained_and_a_part_of_a_swing) {
  ashlar::detail::huge_retention spare(10, 0);
  EXPECT_EQ(spare.most(0), 10u);
  EXPECT_EQ(spare.most(30), 30u);
  spare.count(25);
  EXPECT_EQ(spare.most(0), 25u) << "the peak may come again";
  spare.count(100);
  EXPECT_EQ(spare.most(0), 40u);
  EXPECT_TRUE(spare.ends_epoch(0));
  EXPECT_EQ(spare.most(0), 40u) << "the peak of the epoch before";
  EXPECT_TRUE(spare.ends_epoch(0));
  EXPECT_EQ(spare.most(0), 10u);
  spare.count(100);
  spare.clear();
  EXPECT_EQ(spare.most(0), 10u);
}

TEST(huge_retention, has_epochs_in_time) {
  ashlar::detail::huge_retention spare(10, 3'600'000);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(spare.ends_epoch(0)) << "an hour has not passed";
}

TEST_F(purge_test, looks_at_what_other_threads_have_freed_once_in_a_mebibyte) {
  fill(60);
  for (std::byte* const each : held) static_cast<void>(spans.give_block(each));
  held.clear();
  const std::size_t free = spare();
  idle.on_arrived((std::size_t{1} << 20) - 1, lists);
  EXPECT_EQ(spare(), free);
  idle.on_arrived(1, lists);
  EXPECT_LT(spare(), free);
}

TEST_F(purge_test, trims_slices_before_huge_blocks) {
  fill(20);
  for (std::byte* const each : held) static_cast<void>(spans.give_block(each));
  held.clear();
  huge.give(huge.take(std::size_t{5} << 20, 16).data);
  EXPECT_GE(idle.trim(std::size_t{64} << 20, lists) + 1, 1u);
  EXPECT_NE(space.spare_bytes(), 0u);
  EXPECT_NE(idle.trim(0, lists), 0u);
  EXPECT_EQ(space.spare_bytes() + spare(), 0u);
}

using ashlar::detail::retention_limit;
using ashlar::detail::retention_share;

constexpr std::size_t mib = std::size_t{1} << 20;

TEST(retention_limit, leaves_beyond_itself_a_part_to_each) {
  retention_limit budget(100 * mib);
  retention_share one(budget), other(budget), last(budget);
  one.count(60 * mib);
  other.count(140 * mib);
  EXPECT_NEAR(static_cast<double>(one.left()), 30 * mib, mib / 64);
  EXPECT_NEAR(static_cast<double>(other.left()), 70 * mib, mib / 64);
  EXPECT_EQ(last.left(), 0u);
}

TEST(retention_limit, is_an_eighth_of_what_is_live_in_all) {
  retention_limit budget(100);
  retention_share one(budget), other(budget);
  one.count(0, 8000);
  EXPECT_EQ(one.left(), 1000u);
  EXPECT_EQ(other.left(), 1000u);
  EXPECT_EQ(other.least(), 100u) << "without a live byte";
  one.count(0, 0);
  EXPECT_EQ(other.left(), 100u);
}

TEST(retention_share, has_bytes_of_its_own) {
  retention_limit none(0), some(80 * mib);
  retention_share shares[8] = {retention_share(some), retention_share(some), retention_share(some),
                               retention_share(some), retention_share(some), retention_share(some),
                               retention_share(some), retention_share(some)};
  EXPECT_EQ(retention_share(none).own(0), 0u);
  EXPECT_EQ(shares[0].own(0), 40 * mib);
  EXPECT_EQ(shares[0].own(800 * mib), 100 * mib) << "an eighth of its live bytes";
  for (retention_share& each : shares) each.count(0, 1);
  EXPECT_EQ(shares[0].own(0), 20 * mib) << "of eight that are in use";
  EXPECT_EQ(ashlar::detail::own_retention(7).own(3), 7u);
  EXPECT_EQ(ashlar::detail::own_retention(7).own(30), 30u);
}

TEST(retention_limit, changes) {
  retention_limit budget(100);
  retention_share one(budget), other(budget);
  other.count(60);
  budget.set(200);
  EXPECT_EQ(one.left(), 140u);
  budget.set(50);
  EXPECT_EQ(one.left(), 0u) << "what is counted stays";
  EXPECT_FALSE(budget.try_count(1));
}

TEST(retention_limit, adds_up_among_threads) {
  retention_limit budget(1000);
  ashlar_test::on_threads(4, [&budget](std::size_t who) {
    retention_share mine(budget);
    for (std::size_t k = 0; k < 1000; ++k) mine.count(k * who % 77);
  });
  EXPECT_EQ(budget.kept(), 0u);
}

struct without_budget {};

struct with_budget {
  [[nodiscard]] with_budget& get() noexcept { return *this; }  // as the reference to a shared extent map
  [[nodiscard]] ashlar::detail::retention_limit& budget() noexcept { return *limit; }
  ashlar::detail::retention_limit* limit;
};

TEST(transit_limit, rises_by_steps_to_what_the_heap_may_retain) {
  without_budget upstream;
  ashlar::detail::transit_limit<without_budget> limit(3 * mib);
  EXPECT_FALSE(limit.has_risen());
  EXPECT_TRUE(limit.admits(1000, 0, upstream));
  EXPECT_FALSE(limit.has_risen()) << "the first step is its own";
  EXPECT_TRUE(limit.admits(mib - 1000, 1000, upstream));
  EXPECT_FALSE(limit.has_risen());
  EXPECT_TRUE(limit.admits(1000, mib, upstream));
  EXPECT_TRUE(limit.has_risen());
  EXPECT_TRUE(limit.admits(1000, 2 * mib, upstream));
  EXPECT_FALSE(limit.admits(1000, 3 * mib, upstream));
  EXPECT_TRUE(limit.admits(mib, 2 * mib, upstream)) << "what has been taken again leaves room";
  limit.fall(upstream);
  EXPECT_FALSE(limit.has_risen());
}

TEST(transit_limit, admits_nothing_that_may_not_be_retained) {
  without_budget upstream;
  ashlar::detail::transit_limit<without_budget> none(0), little(1000);
  EXPECT_FALSE(none.admits(16, 0, upstream));
  EXPECT_FALSE(little.admits(1001, 0, upstream));
  EXPECT_TRUE(little.admits(1000, 0, upstream));
  EXPECT_FALSE(little.admits(16, 1000, upstream));
}

TEST(transit_limit, counts_all_steps_but_the_first_in_a_common_budget) {
  ashlar::detail::retention_limit common(2 * mib);
  with_budget upstream{&common};
  ashlar::detail::transit_limit<with_budget> one(8 * mib), other(8 * mib);
  EXPECT_TRUE(one.admits(mib, 0, upstream));
  EXPECT_TRUE(other.admits(mib, 0, upstream));
  EXPECT_EQ(common.kept(), 0u);
  EXPECT_TRUE(one.admits(mib, mib, upstream));
  EXPECT_TRUE(other.admits(mib, mib, upstream));
  EXPECT_EQ(common.kept(), 2 * mib);
  EXPECT_FALSE(one.admits(mib, 2 * mib, upstream)) << "the others wait for as much";
  other.fall(upstream);
  EXPECT_EQ(common.kept(), mib);
  EXPECT_TRUE(one.admits(mib, 2 * mib, upstream));
  one.fall(upstream);
  EXPECT_EQ(common.kept(), 0u);
}

TEST(transit_limit, keeps_its_account_among_threads) {
  ashlar::detail::retention_limit common(5 * mib);
  with_budget upstream{&common};
  ashlar::detail::transit_limit<with_budget> limit(16 * mib);
  std::atomic<std::size_t> waiting = 0;
  ashlar_test::on_threads(4, [&](std::size_t) {
    for (int round = 0; round < 20'000; ++round)
      if (limit.admits(1000, waiting.load(), upstream)) waiting += 1000;
  });
  EXPECT_LE(waiting.load(), 6 * mib + 4 * 1000) << "each thread may have looked before the others added theirs";
  EXPECT_GT(waiting.load(), 5 * mib);
  EXPECT_EQ(common.kept(), 5 * mib);
  limit.fall(upstream);
  EXPECT_EQ(common.kept(), 0u);
}

}  // namespace
