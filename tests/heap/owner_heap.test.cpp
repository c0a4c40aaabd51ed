// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of heaps with remote frees: at once, in packets, while the owner works, sleeps, or changes; and of
// remote_freer: its limits, its end, and an idle freer.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/parcel_sender.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/heap/heap_map.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/heap/owner_heap.hpp>
#include <ashlar/heap/remote_freer.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/forbidden.hpp"
#include "tests/support/heap_blocks.hpp"
#include "tests/support/stamped_block.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::owner_heap;
using ashlar::remote_freer;
using ashlar_test::counting_resource;
using ashlar_test::size_of_any_kind;
using ashlar_test::stamped_block;

const std::string checked_cell_of_48 = ashlar_test::is_hardened ? "64" : "48";  // with room for a canary

struct owners_blocks : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 4096;
  counting_resource<> upstream;
  owner_heap<ashlar::resource_ref<counting_resource<>>> resource{{.max_bytes = std::size_t{16} << 20}, upstream};
};

const bool tested = ashlar_test::conforms<owners_blocks>("owner_heap");

template <class Heap>
std::size_t live_blocks(Heap& heap) {
  std::size_t live = 0;
  heap.for_each_live([&](void*, std::size_t) { ++live; });
  return live;
}

TEST(owner_heap, its_statistics_contain_what_other_threads_have_freed) {
  owner_heap<> heap;
  std::vector<void*> blocks(1000);
  for (void*& each : blocks) each = heap.allocate(64);
  std::thread([&] {
    remote_freer<> freer;
    for (std::size_t i = 0; i < 600; ++i) freer.defer_free(heap, blocks[i]);
    freer.flush();
  }).join();
  const owner_heap<>& looked_at = heap;
  EXPECT_EQ(ashlar::statistics_of(looked_at).all.live_blocks, 400u);
  std::size_t characters = 0;
  ashlar::write_heap_svg(looked_at, [&](std::string_view text) { characters += text.size(); });
  EXPECT_NE(characters, 0u);
  for (std::size_t i = 600; i < blocks.size(); ++i) heap.deallocate(blocks[i]);
}

TEST(owner_heap, takes_back_remote_frees_of_any_size) {
  owner_heap<> heap;
  remote_freer<> freer;
  EXPECT_EQ(freer.noted(), 0u);
  std::mt19937 random(1);
  std::vector<void*> blocks;
  for (int i = 0; i < 3000; ++i) blocks.push_back(heap.allocate(size_of_any_kind(random)));
  for (const std::size_t bytes : {std::size_t{32'768}, std::size_t{65'536}, std::size_t{4} << 20})
    blocks.push_back(heap.allocate(bytes, bytes));
  EXPECT_EQ(live_blocks(heap), blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i)
    i % 8 == 0 ? heap.free_remote(blocks[i]) : freer.defer_free(heap, blocks[i]);
  freer.defer_free(heap, nullptr);
  EXPECT_TRUE(freer.invariant() && heap.invariant());
  freer.flush();
  EXPECT_EQ(freer.noted(), 0u);
  EXPECT_EQ(live_blocks(heap), 0u);
  EXPECT_TRUE(heap.invariant());
  static_cast<void>(heap.trim());
  EXPECT_EQ(heap.held_bytes(), 0u);
}

TEST(owner_heap, its_end_waits_for_threads_inside) {
  auto heap = std::make_unique<owner_heap<>>();
  static_cast<void>(heap->allocate(64));
  std::atomic<bool> is_inside = false, is_through = false;
  std::thread other([&, its = heap.get()] {
    its->for_each_live_remote([&](void*, std::size_t) {
      if (is_inside.exchange(true)) return;
      for (int i = 0; i < 1000; ++i) std::this_thread::yield();
      is_through = true;
    });
  });
  while (!is_inside) std::this_thread::yield();
  heap.reset();
  EXPECT_TRUE(is_through);
  other.join();
}

// Cached cells were not handed out since: the second free finds the bit of the first.
TEST(owner_heap, finds_a_cell_that_two_threads_freed) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "a cell on its way lists others, and is not looked at";
  const auto free_twice = [](std::size_t cells) {
    owner_heap<> heap;
    std::vector<void*> all;
    for (int i = 0; i < 300; ++i) all.push_back(heap.allocate(48));
    for (int turn = 0; turn < 2; ++turn) {
      remote_freer<> freer;
      for (std::size_t i = 0; i < cells; ++i) freer.defer_free(heap, all[100 + i]);
    }
  };
  const std::string line =
      "ashlar: double_free: freed a block that is free, pointer 0x*, resource 0x*, size " + checked_cell_of_48;
  ASHLAR_EXPECT_DEATH(free_twice(1), line);
  ASHLAR_EXPECT_DEATH(free_twice(100), line);
}

TEST(owner_heap, finds_a_cell_that_the_owner_freed_after_another) {
  const auto free_twice = [](bool is_at_once) {
    owner_heap<> heap;
    void* const cell = heap.allocate(48);
    static_cast<void>(heap.allocate(48));  // so that the slab stays
    if (is_at_once) heap.free_remote(cell);
    else remote_freer<>().defer_free(heap, cell);
    heap.drain_inbox();
    ashlar::detail::mark_readable(cell, 48);  // below level checked a free-list link is in it
    heap.deallocate(cell);
    heap.flush_caches();
  };
  const std::string line = "ashlar: double_free: freed a block that is free, pointer 0x*, resource 0x*" +
                           std::string(ashlar_test::is_checked ? ", size " + checked_cell_of_48 : "");
  ASHLAR_EXPECT_DEATH(free_twice(true), line);
  ASHLAR_EXPECT_DEATH(free_twice(false), line);
}

TEST(owner_heap, may_be_used_by_the_handler_of_a_double_free) {
  static owner_heap<>* used = nullptr;
  EXPECT_EXIT(
      {
        ::alarm(60);
        owner_heap<> heap;
        used = &heap;
        void* const cell = heap.allocate(48);
        static_cast<void>(heap.allocate(48));
        ashlar::set_violation_handler([](const ashlar::violation&) noexcept {
          void* const large = used->try_allocate(100'000);
          std::_Exit(large != nullptr && used->owns(large) ? 7 : 1);
        });
        heap.free_remote(cell);
        heap.free_remote(cell);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(owner_heap, marks_remotely_freed_memory) {
  if (!ashlar::detail::marks_memory || !ashlar::detail::always_marked) GTEST_SKIP() << "nothing is marked";
  owner_heap<> heap;
  static_cast<void>(heap.allocate(48));
  void* const cell = heap.allocate(48);
  heap.free_remote(cell);
  EXPECT_TRUE(ashlar_test::is_forbidden(static_cast<std::byte*>(cell) + 40));
}

TEST(owner_heap, reports_a_signal_handler_that_uses_the_interrupted_heap) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "nothing is checked";
  static owner_heap<> heap;
  ASHLAR_EXPECT_DEATH(
      {
        ::alarm(60);
        std::signal(SIGUSR1, [](int) { heap.deallocate(heap.allocate(100)); });
        static_cast<void>(heap.allocate(100));
        heap.for_each_live([](void*, std::size_t) { static_cast<void>(std::raise(SIGUSR1)); });
      },
      "ashlar: reentry: a signal handler or a callback used the resource that it interrupted");
}

TEST(owner_heap, counts_reused_bytes_beyond_a_release) {
  owner_heap<> mine;
  for (int i = 0; i < 100; ++i) mine.deallocate(mine.allocate(100'000));
  const std::uint64_t reused = mine.reused_bytes();
  EXPECT_GT(reused, std::uint64_t{90} * 100'000);
  mine.release();
  EXPECT_EQ(mine.reused_bytes(), reused);
}

TEST(owner_heap, works_on_while_others_trim_it) {
  owner_heap<> heap;
  std::atomic<bool> is_over = false;
  std::thread stranger([&] {
    while (!is_over) {
      static_cast<void>(heap.trim_remote());
      EXPECT_GE(heap.held_bytes() + 1, 1u);
      std::this_thread::yield();
    }
  });
  std::mt19937 random(3);
  for (std::size_t round = 0; round < ashlar_test::stress_rounds(20); ++round) {
    std::vector<stamped_block> blocks;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const std::size_t bytes = i % 64 == 1 ? 70'000 : i % 512 == 2 ? std::size_t{5} << 20 : size_of_any_kind(random);
      blocks.push_back({heap.allocate(bytes), bytes, i});
      blocks.back().write();
    }
    for (const stamped_block& each : blocks) {
      ASSERT_TRUE(each.is_intact());
      heap.deallocate(each.p);
    }
    if (round % 4 == 0) {
      EXPECT_EQ(live_blocks(heap), 0u);
    }
  }
  is_over = true;
  stranger.join();
  EXPECT_TRUE(heap.invariant());
}

constexpr bool sends = ashlar::checking_level < ashlar::checking::checked;

using engine = ashlar::detail::owner_engine<ashlar::page_resource>;

// As thread heaps, whose numbers leave a place for each of 32.
std::vector<std::unique_ptr<engine>> numbered_engines(std::uint32_t count) {
  std::vector<std::unique_ptr<engine>> made;
  for (std::uint32_t i = 0; i < count; ++i) made.push_back(std::make_unique<engine>(ashlar::heap_options{}));
  for (std::uint32_t i = 0; i < count; ++i) made[i]->set_number(i);
  return made;
}

TEST(remote_freer, keeps_at_most_the_documented_amount) {
  if (!sends) GTEST_SKIP() << "nothing is kept back where frees are checked";
  const auto heaps = numbered_engines(32);
  ashlar::detail::parcel_sender<ashlar::page_resource> freer;
  std::size_t most = 0;
  for (std::size_t i = 0; i < 200'000; ++i) {
    engine& of = *heaps[i % heaps.size()];
    freer.defer_free(of, of.allocate(1000));
    most = std::max(most, freer.noted() * 1024);
  }
  EXPECT_LE(most, freer.most_held + 32 * 16 * 1024);
  EXPECT_GE(most, freer.most_held / 2);
}

TEST(remote_freer, gathers_large_cells_of_many_owners) {
  if (!sends) GTEST_SKIP() << "nothing is kept back where frees are checked";
  const auto heaps = numbered_engines(20);
  for (const std::size_t bytes : {std::size_t{1000}, std::size_t{2000}}) {
    ashlar::detail::parcel_sender<ashlar::page_resource> freer;
    std::size_t most = 0;
    for (std::size_t i = 0; i < 2000; ++i) {
      engine& of = *heaps[i % heaps.size()];
      freer.defer_free(of, of.allocate(bytes));
      most = std::max(most, freer.noted());
    }
    EXPECT_GE(most, 100u) << "places that carriers have left do not count";
  }
}

TEST(remote_freer, may_end_before_its_owners_have_looked) {
  owner_heap<> heaps[3];
  std::vector<void*> blocks;
  for (int i = 0; i < 30'000; ++i) blocks.push_back(heaps[i % 3].allocate(32));
  std::vector<std::size_t> order(blocks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  for (int part = 0; part < 3; ++part) {
    remote_freer<> freer;
    for (std::size_t i = static_cast<std::size_t>(part); i < order.size(); i += 3)
      freer.defer_free(heaps[order[i] % 3], blocks[order[i]]);
    if (part == 0) freer.flush();  // and goes on afterwards
    freer.defer_free(heaps[0], heaps[0].allocate(100));
  }
  for (owner_heap<>& each : heaps) {
    static_cast<void>(each.trim());
    EXPECT_EQ(each.held_bytes(), 0u);
    EXPECT_TRUE(each.invariant());
  }
}

TEST(remote_freer, is_quiet_once_little_was_freed_since_it_was_asked_four_times) {
  if (!sends) GTEST_SKIP() << "nothing is kept back where frees are checked";
  owner_heap<> heap;
  remote_freer<> freer;
  freer.flush_if_quiet();
  std::size_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    freer.defer_free(heap, heap.allocate(480));
    if (i % 20 == 0) freer.flush_if_quiet();
    most = std::max(most, freer.noted());
  }
  EXPECT_GE(most, 30u) << "an active freer fills its parcels";
  freer.defer_free(heap, heap.allocate(480));
  freer.flush_if_quiet();
  EXPECT_NE(freer.noted(), 0u);
  for (int i = 0; i < 4; ++i) freer.flush_if_quiet();
  EXPECT_EQ(freer.noted(), 0u);
}

TEST(remote_freer, sends_a_parcel_for_each_64_cells_and_none_for_large_blocks) {
  if (!sends) GTEST_SKIP() << "nothing is sent where frees are checked";
  owner_heap<> heap;
  remote_freer<> freer;
  std::vector<void*> cells;
  for (int i = 0; i < 1000; ++i) cells.push_back(heap.allocate(static_cast<std::size_t>(16 + i % 200)));
  for (void* const cell : cells) {
    freer.defer_free(heap, cell);
    EXPECT_LT(freer.noted(), 64u + 15u);
  }
  freer.flush();
  for (const std::size_t bytes : {std::size_t{40'000}, std::size_t{100'000}, std::size_t{5} << 20}) {
    freer.defer_free(heap, heap.allocate(bytes));
    EXPECT_EQ(freer.noted(), 0u);
  }
  freer.defer_free(heap, nullptr);
  EXPECT_TRUE(freer.invariant());
}

TEST(remote_freer, counts_large_cells_by_their_bytes) {
  if (!sends) GTEST_SKIP() << "nothing is kept back where frees are checked";
  owner_heap<> heap;
  remote_freer<> freer;
  for (int i = 0; i < 200; ++i) {
    freer.defer_free(heap, heap.allocate(64));
    freer.defer_free(heap, heap.allocate(i % 2 == 0 ? 5000 : 32'000));
    EXPECT_LE(freer.noted(), 8u);
  }
  freer.flush();
  static_cast<void>(heap.trim());
  EXPECT_EQ(heap.held_bytes(), 0u);
}

// Each third cell is a carrier that lists the two after it, which are as large as listed ones can be.
TEST(remote_freer, counts_what_waits_for_an_owner_whatever_carries_it) {
  if (!sends) GTEST_SKIP() << "nothing waits where frees are checked";
  constexpr std::size_t most = std::size_t{4} << 20;
  engine heap({.retain_bytes = most, .decay_ms = 1u << 30});
  std::vector<void*> cells;
  std::size_t bytes = 0;
  while (bytes < 8 * most)
    for (const std::size_t size : {std::size_t{32}, std::size_t{1000}, std::size_t{1000}}) {
      cells.push_back(heap.allocate(size));
      bytes += heap.usable_size(cells.back());
    }
  const std::size_t before = heap.locked()->free_bytes();
  ashlar::detail::parcel_sender<ashlar::page_resource> freer;
  for (void* const cell : cells) freer.defer_free(heap, cell);
  freer.flush();
  EXPECT_TRUE(freer.invariant());
  const std::size_t drained = heap.locked()->free_bytes() - before, waiting = bytes - drained;
  EXPECT_LE(waiting, most + most / 4);
  EXPECT_GE(waiting, most / 2);
}

}  // namespace
