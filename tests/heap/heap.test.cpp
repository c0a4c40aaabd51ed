// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the heap for any thread: threads that start and end, remote frees, detached blocks, forks, sleeping owners;
// and of calls that all heaps share.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/heap/bounded_heap.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/heap/owner_heap.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/heap_blocks.hpp"
#include "tests/support/stamped_block.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::heap;
using ashlar_test::in_a_thread;
using ashlar_test::size_of_any_kind;
using ashlar_test::stamped_block;

struct blocks_for_all : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 4096;
  heap<> resource{{.max_bytes = std::size_t{16} << 20}};
};

const bool tested = ashlar_test::conforms<blocks_for_all>("heap");

TEST(heap, gets_all_memory_back_from_any_freeing_thread) {
  heap<> all;
  std::vector<stamped_block> blocks;
  in_a_thread([&] {
    std::mt19937 random(1);
    for (std::uint64_t i = 0; i < 5000; ++i) {
      const std::size_t bytes = size_of_any_kind(random);
      blocks.push_back({all.allocate(bytes), bytes, i});
      blocks.back().write();
    }
  });
  EXPECT_EQ(all.parked(), 1u);
  in_a_thread([&] {
    for (const stamped_block& each : blocks) {
      EXPECT_TRUE(each.is_intact() && all.owns(each.p) && all.usable_size(each.p) >= each.bytes);
      all.deallocate(each.p);
    }
  });
  EXPECT_TRUE(all.invariant());
  static_cast<void>(all.trim());
  EXPECT_EQ(all.held_bytes(), 0u);
}

TEST(heap, counts_reused_bytes_of_all_threads) {
  heap<> all;
  const auto reuse = [&all] {
    for (int i = 0; i < 100; ++i) all.deallocate(all.allocate(100'000));
  };
  reuse();
  in_a_thread(reuse);
  EXPECT_GT(all.reused_bytes(), std::uint64_t{2} * 90 * 100'000);
}

TEST(heap, makes_no_heap_where_one_is_parked) {
  heap<> all;
  void* last = nullptr;
  std::size_t held = 0;
  for (int i = 0; i < 300; ++i) {
    in_a_thread([&] {
      void* const mine = all.allocate(100'000);
      all.deallocate(last);
      last = mine;
      for (int k = 0; k < 1000; ++k) all.deallocate(all.allocate(static_cast<std::size_t>(k)));
    });
    if (i == 2) held = all.held_bytes();
  }
  EXPECT_EQ(all.parked(), 1u);
  EXPECT_EQ(all.held_bytes(), held);
  all.deallocate(last);
}

TEST(heap, releases_all_blocks_of_all_threads) {
  heap<> all;
  for (int round = 0; round < 3; ++round) {
    void* const mine = all.allocate(100);
    in_a_thread([&] {
      for (std::size_t bytes = 1; bytes < 9'000'000; bytes *= 3)
        all.allocate_zeroed(bytes) == nullptr ? abort() : void();
      all.deallocate(mine);
    });
    all.release();
    EXPECT_EQ(all.held_bytes(), 0u);
    EXPECT_TRUE(all.invariant());
  }
}

TEST(heap, reallocates_blocks_of_other_threads) {
  heap<> all;
  for (const std::size_t bytes : {std::size_t{50}, std::size_t{5'000}, std::size_t{70'000}, std::size_t{6} << 20}) {
    stamped_block block{all.allocate(bytes), bytes, bytes};
    block.write();
    in_a_thread([&] {
      auto* const longer = static_cast<std::byte*>(all.reallocate(block.p, bytes * 2));
      EXPECT_TRUE((stamped_block{longer, bytes, bytes}.is_intact()));
      block.p = all.reallocate(longer, bytes);
    });
    EXPECT_TRUE(block.is_intact());
    all.deallocate(block.p, bytes);
  }
  EXPECT_TRUE(all.invariant());
}

struct bounded : ashlar::bounded_heap<> {
  bounded() : bounded_heap(std::size_t{1} << 20) {}
};

// Two heaps of a type, used in turns.
template <class Heap>
class any_heap : public ::testing::Test {
protected:
  Heap heap_, other_;
};
using heaps_of_all_kinds = ::testing::Types<ashlar::local_heap<>, ashlar::owner_heap<>, heap<>, bounded>;
TYPED_TEST_SUITE(any_heap, heaps_of_all_kinds);

TYPED_TEST(any_heap, serves_sizes_known_at_compile_time_and_shrinks_in_place) {
  auto &all = this->heap_, &other = this->other_;
  const auto pair_of = [&]<std::size_t Bytes, std::size_t Alignment>() {
    for (std::uint64_t i = 0; i < 300; ++i) {  // enough for sampled addresses
      stamped_block mine{all.template allocate<Bytes, Alignment>(), Bytes, i};
      mine.write();
      void* const others = other.template allocate<Bytes, Alignment>();
      EXPECT_TRUE(ashlar::is_aligned(mine.p, Alignment) && mine.is_intact() && all.owns(mine.p) && other.owns(others));
      EXPECT_GE(all.usable_size(mine.p), Bytes);
      const auto give = [&] { all.template deallocate<Bytes, Alignment>(mine.p); };
      ashlar::thread_safe_resource<TypeParam>&& i % 3 == 0 ? in_a_thread(give) : give();
      if (i % 3 == 0) other.template deallocate<Bytes, Alignment>(others);
      else i % 3 == 1 ? other.deallocate(others, Bytes, Alignment) : other.deallocate(others);
    }
  };
  pair_of.template operator()<48, 16>();
  pair_of.template operator()<100, 64>();
  pair_of.template operator()<5000, 256>();
  pair_of.template operator()<40'000, 16>();
  void* const p = all.allocate(300'000);
  EXPECT_FALSE(all.try_shrink(p, 300'000, 300'001, 16));
  const auto shrink = [&] { EXPECT_TRUE(all.try_shrink(p, 300'000, 100'000, 16)); };
  ashlar::thread_safe_resource<TypeParam> ? in_a_thread(shrink) : shrink();
  all.template deallocate<100'000>(p);
  EXPECT_TRUE(all.invariant() && other.invariant());
}

TYPED_TEST(any_heap, clears_what_was_in_use_and_takes_null_for_an_empty_block) {
  auto& all = this->heap_;
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{3000}, std::size_t{100'000}}) {
    void* const dirty = all.allocate(bytes);
    std::memset(dirty, 1, bytes);
    all.deallocate(dirty);
    auto* p = static_cast<std::byte*>(all.allocate_zeroed(bytes));
    for (int i = 0; i < 2; ++i, p = static_cast<std::byte*>(all.reallocate(p, 2 * bytes)))
      EXPECT_EQ(std::count(p, p + bytes, std::byte{0}), static_cast<std::ptrdiff_t>(bytes));
    all.deallocate(p);
  }
  all.deallocate(nullptr);
  all.deallocate(all.reallocate(nullptr, 10));
  EXPECT_TRUE(all == all && all.invariant());
}

TEST(heap, trims_what_a_thread_that_sleeps_has_been_given_back) {
  heap<> all;
  std::vector<void*> blocks;
  std::atomic<int> stage = 0;
  std::thread sleeper([&] {
    for (int i = 0; i < 100'000; ++i) blocks.push_back(all.allocate(160));
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  EXPECT_GT(all.held_bytes(), std::size_t{16'000'000});
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937(2));
  for (void* const p : blocks) all.deallocate(p);
  static_cast<void>(all.trim());
  EXPECT_LE(all.held_bytes(), ashlar::detail::segment_bytes) << "of the cells at hand";
  stage = 2;
  sleeper.join();
}

TEST(heap, hands_all_blocks_of_a_thread_to_another) {
  heap<> all;
  std::vector<void*> blocks;
  std::unique_ptr<heap<>::detached> handed;
  in_a_thread([&] {
    for (int i = 0; i < 1000; ++i) blocks.push_back(all.allocate(64));
    handed = std::make_unique<heap<>::detached>(all.detach());
    all.deallocate(all.allocate(64));
  });
  EXPECT_EQ(all.parked(), 1u);
  in_a_thread([&] {
    all.adopt(std::move(*handed));
    for (void* const p : blocks) all.deallocate(p);
    EXPECT_EQ(ashlar::detail::segment::of(all.allocate(64)), ashlar::detail::segment::of(blocks.back()))
        << "as its own";
  });
  EXPECT_EQ(all.parked(), 2u);
  static_cast<void>(all.detach());  // without blocks
}

TEST(heap, knows_a_token_of_another_heap) {
  heap<> all, other;
  static_cast<void>(all.allocate(64));
  EXPECT_DEATH(other.adopt(all.detach()), "adopted blocks of another heap");
}

TEST(heap, leaves_blocks_in_transit_through_a_fork_to_the_adopting_thread) {
  if (ashlar_test::has_tsan) GTEST_SKIP() << "the tool does not let a child have threads";
  heap<> all;
  void* const before = all.allocate(64);
  heap<>::detached handed = all.detach();
  EXPECT_TRUE(ashlar_test::child_does([&] {
    if (all.parked() != 0) return false;
    all.adopt(std::move(handed));
    void* const mine = all.allocate(64);
    void* others = nullptr;
    in_a_thread([&] { others = all.allocate(64); });
    const bool is_apart = ashlar::detail::segment::of(mine) != ashlar::detail::segment::of(others);
    all.deallocate(before);
    static_cast<void>(all.detach());  // so that the heap is parked
    return is_apart && all.parked() == 2 && all.invariant();
  }));
  all.adopt(std::move(handed));
  all.deallocate(before);
}

TEST(heap, serves_out_of_what_threads_have_left_before_it_refuses) {
  heap<> all({.max_bytes = std::size_t{16} << 20});
  std::atomic<int> in = 0;
  ashlar_test::on_threads(3, [&](std::size_t) {
    static_cast<void>(all.allocate(64));
    for (++in; in != 3;) std::this_thread::yield();
  });
  EXPECT_EQ(all.parked(), 3u);
  std::size_t served = 0;
  while (all.try_allocate(10'000) != nullptr) served += 10'000;
  EXPECT_GT(served, 5 * ashlar::detail::segment_bytes / 2) << "of three segments";
  EXPECT_EQ(all.parked(), 2u);
  EXPECT_TRUE(all.invariant());
}

TEST(heap, makes_nothing_for_a_thread_that_frees_large_blocks_alone) {
  ashlar::page_resource pages;
  heap<ashlar::resource_ref<ashlar::page_resource>> all(pages);
  void* const run = all.allocate(100'000);
  void* const huge = all.allocate(std::size_t{5} << 20);
  in_a_thread([&] { all.deallocate(run), all.deallocate(huge, std::size_t{5} << 20); });
  EXPECT_EQ(all.parked(), 0u);
  EXPECT_TRUE(all.invariant());
}

}  // namespace
