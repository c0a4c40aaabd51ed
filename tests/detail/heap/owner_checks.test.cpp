// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the checks of blocks whose owner is found by their address, through the heap of the process.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/cell_layout.hpp>
#include <ashlar/detail/heap/owner_checks.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/process_heap.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"

namespace {

using ashlar::fault;
using ashlar::process_heap;

constinit fault expected = fault::double_free;
void end_as_expected(const ashlar::violation& seen) noexcept { ::_exit(seen.kind == expected ? 0 : 2); }

/// Returns: whether `f` ends a child with a report of the kind.
template <class F>
[[nodiscard]] bool reports(fault kind, F f) {
  expected = kind;
  return ashlar_test::child_does([&] {
    ashlar::set_violation_handler(&end_as_expected);
    f();
    return false;
  });
}

void in_other_thread(auto f) { std::thread(f).join(); }

class owner_checks : public ::testing::TestWithParam<std::size_t> {
protected:
  void SetUp() override {
    if constexpr (!ashlar_test::is_checked) GTEST_SKIP() << "nothing is checked";
    if constexpr (ashlar_test::has_tsan) GTEST_SKIP() << "forks of threads";
  }
  static void* take() { return process_heap().try_allocate(GetParam()); }
  static void give(void* p) { process_heap().deallocate(p); }
  static void give_sized(void* p, std::size_t bytes) { process_heap().deallocate(p, bytes); }
};

TEST_P(owner_checks, find_a_second_free_by_each_pair_of_threads) {
  void* const p = take();
  EXPECT_TRUE(reports(fault::double_free, [=] { give(p), give(p); }));
  EXPECT_TRUE(reports(fault::double_free, [=] { give_sized(p, GetParam()), give_sized(p, GetParam()); }));
  EXPECT_TRUE(reports(fault::double_free, [=] { in_other_thread([=] { give(p); }), give(p); }));
  EXPECT_TRUE(reports(fault::double_free, [=] { give(p), in_other_thread([=] { give(p); }); }));
  EXPECT_TRUE(reports(fault::double_free, [=] {
    in_other_thread([=] { give(p); });
    in_other_thread([=] { give(p); });
  }));
  const fault late = GetParam() < ashlar::detail::segment_bytes ? fault::double_free : fault::invalid_free;
  EXPECT_TRUE(reports(late, [=] {  // its pages may have moved
    give(p);
    std::vector<void*> others;
    for (int i = 0; i != 3; ++i) others.push_back(process_heap().try_allocate(GetParam() * 8));
    for (void* const each : others) give(each);
    give(p);
  }));
  give(p);
}

TEST_P(owner_checks, find_addresses_that_are_no_block) {
  auto* const p = static_cast<std::byte*>(take());
  const auto inside = [=] { give(p + 16); };
  EXPECT_TRUE(reports(fault::misaligned_free, inside));
  EXPECT_TRUE(reports(fault::misaligned_free, [=] { in_other_thread(inside); }));
  EXPECT_TRUE(reports(fault::misaligned_free, [=] { give(p + 1); }));
  int local = 0;
  EXPECT_TRUE(reports(fault::invalid_free, [&] { give(&local); }));
  EXPECT_TRUE(reports(fault::invalid_free, [&] { give(ashlar::detail::segment::of(p)->records); }) ||
              GetParam() > ashlar::detail::segment_bytes);
  ashlar::heap<> other;
  void* const of_other = other.allocate(GetParam());
  EXPECT_TRUE(reports(fault::wrong_pool, [=] { give(of_other); }));
  EXPECT_TRUE(reports(fault::wrong_pool, [&] { other.deallocate(p); }));
  give(p);
}

TEST_P(owner_checks, find_other_sizes_and_uses_of_dead_blocks) {
  void* const p = take();
  EXPECT_TRUE(reports(fault::size_mismatch, [=] { give_sized(p, GetParam() * 3); }));
  EXPECT_TRUE(reports(fault::size_mismatch, [=] { in_other_thread([=] { give_sized(p, GetParam() * 3); }); }));
  EXPECT_TRUE(reports(fault::double_free, [=] { give(p), static_cast<void>(process_heap().usable_size(p)); }));
  EXPECT_TRUE(reports(fault::double_free, [=] { give(p), static_cast<void>(process_heap().try_reallocate(p, 10)); }));
  EXPECT_TRUE(reports(fault::double_free, [=] {
    in_other_thread([=] { give(p); });
    static_cast<void>(process_heap().usable_size(p));
  }));
  give_sized(p, GetParam());
}

/// Memory whose 4 MiB look like a segment of no heap: an address in it is foreign, and may be read.
struct window_of_no_heap {
  window_of_no_heap() : start(static_cast<std::byte*>(pages.allocate(bytes, bytes))) {}
  ~window_of_no_heap() { pages.deallocate(start, bytes, bytes); }
  window_of_no_heap(const window_of_no_heap&) = delete;
  window_of_no_heap& operator=(const window_of_no_heap&) = delete;

  static constexpr std::size_t bytes = ashlar::detail::window_bytes;
  ashlar::page_resource pages;
  std::byte* const start;
};

TEST(owner_checks_of_addresses, report_foreign_ones_at_every_level) {
  if constexpr (sizeof(void*) < 8 || ashlar_test::has_tsan) GTEST_SKIP() << "without a range; forks of threads";
  const window_of_no_heap other;
  void* const mine = process_heap().try_allocate(100);
  for (const std::size_t at : {std::size_t{0}, std::size_t{100'000} / 16 * 16, std::size_t{65536}}) {
    const auto give = [&] { process_heap().deallocate(other.start + at); };
    EXPECT_TRUE(reports(fault::invalid_free, give)) << at;
    EXPECT_TRUE(reports(fault::invalid_free, [&] { in_other_thread(give); })) << at;
  }
  process_heap().deallocate(mine);
}

INSTANTIATE_TEST_SUITE_P(sizes, owner_checks, ::testing::Values(40, 5000, 200'000, std::size_t{9} << 20));

TEST(owner_checks_of_threads, let_memory_of_other_threads_come_back) {
  std::vector<void*> freed, again;
  std::set<std::uintptr_t> slices;
  const auto slice_of = [](const void* p) { return ashlar::detail::address_of(p) / ashlar::detail::slice_bytes; };
  for (int i = 0; i != 3000; ++i)
    freed.push_back(process_heap().try_allocate(700)), slices.insert(slice_of(freed.back()));
  in_other_thread([&] {
    for (void* const p : freed) process_heap().deallocate(p);
    process_heap().flush();
  });
  std::size_t known = 0;
  for (int i = 0; i != 6000; ++i) {
    again.push_back(process_heap().try_allocate(700));
    known += slices.count(slice_of(again.back()));
  }
  EXPECT_GT(known, 1000u);
  EXPECT_EQ(std::set<void*>(again.begin(), again.end()).size(), again.size());
  for (void* const p : again) process_heap().deallocate(p);
  EXPECT_TRUE(process_heap().invariant());
}

// Each thread frees what the other allocates while both go on: ThreadSanitizer sees the bits of their cells.
TEST(owner_checks_of_threads, free_blocks_of_a_busy_owner) {
  constexpr std::size_t places = 64;
  std::atomic<char*> on_the_way[places] = {};
  std::atomic<bool> is_done = false;
  std::thread other([&] {
    while (!is_done)
      for (auto& place : on_the_way)
        if (char* const p = place.exchange(nullptr); p != nullptr) {
          EXPECT_EQ(p[0], 'a');
          process_heap().deallocate(p);
        }
  });
  for (unsigned i = 0; i != (ashlar_test::is_slow ? 20'000u : 200'000u); ++i) {
    const std::size_t bytes = 16 + i % 50 * 16 + (i % 1000 == 0 ? 70'000 : 0);
    auto* const p = static_cast<char*>(process_heap().try_allocate(bytes));
    std::memset(p, 'a', 16);
    char* const kept = on_the_way[i % places].exchange(p);
    process_heap().deallocate(kept);
    if (i % 5000 == 0) static_cast<void>(process_heap().trim());
  }
  is_done = true;
  other.join();
  for (auto& place : on_the_way) process_heap().deallocate(place.load());
  process_heap().flush();
  EXPECT_TRUE(process_heap().invariant());
}

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
      in_other_thread([&] {  // the next thread has the blocks of the busy one
        for (void* const each : kept) process_heap().deallocate(each);
        for (void*& each : kept) each = process_heap().try_allocate(40);
      });
      return true;
    }));
  step = 2;
  busy.join();
  for (void* const each : kept) process_heap().deallocate(each);
}

TEST(owner_checks_of_threads, leave_cached_cells_out_of_the_live_ones) {
  if constexpr (!ashlar_test::is_checked) GTEST_SKIP() << "cached cells of other threads count as live";
  std::atomic<int> step = 0;
  void* cached = nullptr;
  std::thread other([&] {
    cached = process_heap().try_allocate(3000);
    process_heap().deallocate(cached);
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  bool is_seen = false;
  process_heap().for_each_live([&](void* p, std::size_t) { is_seen = is_seen || p == cached; });
  step = 2;
  other.join();
  EXPECT_FALSE(is_seen);
}

}  // namespace
