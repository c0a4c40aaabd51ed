// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of heaps that come and go: the segment of one that has ended serves the next, and goes back by time.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/heap/owner_heap.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/page_store.hpp>

#include "tests/support/faulty_calls.hpp"
#include "tests/support/heap_life.hpp"

namespace {

using ashlar_test::dirty_life;
using ashlar_test::faulty_calls;

constexpr std::size_t kib = 1024;

// The pages of a system, and their store, of which the calls are counted.
template <class Tag>
struct counted {
  using system = ashlar::os::basic_pages<faulty_calls<Tag>>;
  using pages = ashlar::basic_page_resource<ashlar::fresh::populated, system>;
  using store = ashlar::basic_page_store<system>;
};

constexpr bool has_store = ashlar::detail::page_discard<ashlar::page_resource>::has_store;

template <class Heap>
void use(Heap& heap) {
  std::array<void*, 3> blocks;
  for (void*& each : blocks) std::memset(each = heap.allocate(64), 1, 64);
  for (void* const each : blocks) heap.deallocate(each, 64);
}

template <class Heap>
void live() {
  Heap heap;
  use(heap);
}

template <class Pages>
void live_each() {
  live<ashlar::local_heap<Pages>>();
  live<ashlar::owner_heap<Pages>>();
  live<ashlar::heap<Pages>>();
}

TEST(heap_lives, make_no_system_call) {
  if (!has_store) GTEST_SKIP() << "segments of this system do not begin short";
  struct tag {};
  for (int i = 0; i < 3; ++i) live_each<counted<tag>::pages>();
  const std::size_t calls = faulty_calls<tag>::faults.calls;
  for (int i = 0; i < 1000; ++i) live_each<counted<tag>::pages>();
  EXPECT_EQ(faulty_calls<tag>::faults.calls, calls);
}

TEST(heap_lives, make_no_system_call_with_blocks_of_many_sizes) {
  if (!has_store) GTEST_SKIP() << "segments of this system do not begin short";
  struct tag {};
  const auto life = [] {
    ashlar::local_heap<counted<tag>::pages> heap;
    for (std::size_t bytes = 16; bytes < 16 * kib; bytes *= 2) std::memset(heap.allocate(bytes), 1, bytes);
    std::memset(heap.allocate(200 * kib), 1, 200 * kib);
  };
  for (int i = 0; i < 30; ++i) life();  // the limit of the store learns
  const std::size_t calls = faulty_calls<tag>::faults.calls;
  for (int i = 0; i < 300; ++i) life();
  EXPECT_LE(faulty_calls<tag>::faults.calls - calls, 20u) << "a window may end between";
}

TEST(heap_lives, give_zeroes_of_what_others_have_written_to) {
  for (std::size_t life = 0; life < 100; ++life) {
    dirty_life<ashlar::local_heap<>>(life);
    dirty_life<ashlar::owner_heap<>>(life);
    dirty_life<ashlar::heap<>>(life);
  }
}

TEST(heap_lives, leave_slices_fresh_that_no_block_has_used) {
  if (!has_store) GTEST_SKIP() << "segments of this system do not begin short";
  struct tag {};
  using heap_type = ashlar::local_heap<counted<tag>::pages>;
  std::size_t first = 0;
  for (int i = 0; i < 3; ++i) {
    heap_type heap;
    use(heap);
    std::size_t fresh = 0;
    heap.inspect(
        [&](const ashlar::heap_region& each) { fresh += each.kind == ashlar::region_kind::fresh ? each.bytes : 0; });
    EXPECT_EQ(fresh, i == 0 ? fresh : first);
    EXPECT_GE(first = fresh, 128 * kib);
  }
}

TEST(heap_lives, give_their_segments_back_within_a_second) {
  if (!has_store) GTEST_SKIP() << "segments of this system do not begin short";
  struct tag {};
  using heap_type = ashlar::local_heap<counted<tag>::pages>;
  auto& faults = faulty_calls<tag>::faults;
  std::vector<std::unique_ptr<heap_type>> alive;
  for (int i = 0; i < 40; ++i) {
    alive.push_back(std::make_unique<heap_type>());
    use(*alive.back());
  }
  const std::size_t one = alive.front()->held_bytes();
  EXPECT_EQ(faults.mapped_bytes, 40 * one);
  alive.clear();
  EXPECT_LE(faults.mapped_bytes, 1024 * kib) << "beyond the limit at once";
  EXPECT_GE(faults.mapped_bytes, one);
  EXPECT_EQ(counted<tag>::store::retained_bytes(), faults.mapped_bytes);
  for (int tenth = 0; tenth < 10; ++tenth) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    live<heap_type>();
  }
  EXPECT_EQ(faults.mapped_bytes, one);
  EXPECT_EQ(counted<tag>::store::trim(), one);
  EXPECT_EQ(faults.mapped_bytes, 0u);
}

TEST(heap_lives, are_over_for_the_system_after_a_trim) {
  struct tag {};
  ashlar::local_heap<counted<tag>::pages> heap;
  use(heap);
  heap.trim();
  EXPECT_EQ(faulty_calls<tag>::faults.mapped_bytes, 0u) << "a trim is for the system, not for the store";
}

TEST(heap_lives, keep_the_limit_of_a_heap_whose_segment_would_be_a_longer_one) {
  struct tag {};
  using heap_type = ashlar::local_heap<counted<tag>::pages>;
  {
    heap_type longer;
    for (int i = 0; i < 8; ++i) static_cast<void>(longer.allocate(64 * kib));
  }
  constexpr std::size_t most = ashlar::detail::segment::requested_sizes::is_there ? 800 * kib : 330 * kib;
  heap_type heap({.max_bytes = most});
  use(heap);
  EXPECT_LE(heap.held_bytes(), most);
}

TEST(heap_lives, end_for_a_request_that_the_system_refuses) {
  struct tag {};
  using heap_type = ashlar::local_heap<counted<tag>::pages>;
  live<heap_type>();
  auto& faults = faulty_calls<tag>::faults;
  heap_type heap;
  faults.maps.fail_from(0);
  EXPECT_EQ(heap.try_allocate(16'000 * kib), nullptr);
  EXPECT_EQ(counted<tag>::store::retained_bytes(), 0u);
  EXPECT_EQ(faults.mapped_bytes, 0u);
  faults.fail_never();
  use(heap);
}

}  // namespace
