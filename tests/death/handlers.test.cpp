// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that a fault handler may use the reporting pool or heap, in its own thread and in another one: no lock is held,
// whichever check found the misuse.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/adaptor/guarding.hpp>
#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

std::function<void()> use;  // of what is misused, by the handler

// The alarm ends a handler that waits forever; its signal is not the expected one.
template <class F>
void misuse(std::function<void()> used, F f) {
  ::alarm(60);
  use = std::move(used);
  ashlar::set_violation_handler([](const ashlar::violation& v) noexcept {
    use();
    std::thread(use).join();
    ashlar::violation::print(v);
  });
  f();
}

// AddressSanitizer would end the process at the write, before the canary is verified.
ASHLAR_TEST_UNSEEN void write_unseen(void* at) { *static_cast<volatile char*>(at) ^= 1; }

template <ashlar::checking Level>
class a_handler_from : public ::testing::Test {
protected:
  void SetUp() override {
    if (ashlar::checking_level < Level) GTEST_SKIP() << "looked for at higher levels";
    if (ashlar_test::has_tsan) GTEST_SKIP() << "the tool does not let a child have threads";
  }
};
class a_handler_at_every_level : public a_handler_from<ashlar::checking::fast> {};
class a_handler : public a_handler_from<ashlar::checking::checked> {};
class a_handler_of_dead_blocks : public a_handler_from<ashlar::checking::hardened> {};

struct cell {
  alignas(16) std::byte bytes[48];
};

constexpr std::size_t cells_used = 3000;

/// `Pool` has static `allocate()` and `deallocate(void*)`.
template <class Pool>
void use_pool() {
  static std::array<void*, cells_used> cells;
  for (void*& each : cells) each = Pool::allocate();
  for (void* const each : cells) Pool::deallocate(each);
}

template <class Pool>
void free_twice() {
  misuse(&use_pool<Pool>, [] {
    void* const twice = Pool::allocate();
    Pool::deallocate(twice);
    Pool::deallocate(twice);
  });
}

template <class Lock>
struct by_allocator {
  using allocator = ashlar::pool_allocator<cell, Lock>;
  static void* allocate() { return allocator().allocate(1); }
  static void deallocate(void* p) { allocator().deallocate(static_cast<cell*>(p), 1); }
};

template <class Pool>
struct by_pool {
  static Pool& pool() {
    static Pool used({.cell_bytes = sizeof(cell), .slab_bytes = 4096});
    return used;
  }
  static void* allocate() { return pool().allocate(); }
  static void deallocate(void* p) { pool().deallocate(p); }
};

template <class R>
struct by_synchronized {
  static ashlar::synchronized<R, std::mutex>& resource() {
    static ashlar::synchronized<R, std::mutex> shared(ashlar::block_pool_options{.cell_bytes = 4 * sizeof(cell)});
    return shared;
  }
  static void* allocate() { return resource().allocate(sizeof(cell), 16); }
  static void deallocate(void* p) { resource().deallocate(p, sizeof(cell), 16); }
};

const std::string free_cell = "ashlar: double_free: freed a cell that is free, pointer 0x*, resource 0x*, size 48";

TEST_F(a_handler, may_use_the_shared_pool_that_noticed) {
  ASHLAR_EXPECT_LAST_WORDS(free_twice<by_pool<ashlar::shared_block_pool<>>>(), free_cell);
}

TEST_F(a_handler, may_use_the_pools_behind_thread_cached_allocators) {
  ASHLAR_EXPECT_LAST_WORDS(free_twice<by_allocator<ashlar::thread_cached>>(), free_cell);
}

TEST_F(a_handler, may_use_the_pools_behind_allocators_with_a_lock) {
  ASHLAR_EXPECT_LAST_WORDS(free_twice<by_allocator<ashlar::spin_lock>>(), free_cell);
  ASHLAR_EXPECT_LAST_WORDS(free_twice<by_allocator<std::mutex>>(), free_cell);
}

using by_block_pool = by_pool<ashlar::block_pool<>>;

// The slab at the highest address has a cell with a write behind it, the one at the lowest a free cell.
void release_overflown() {
  misuse(&use_pool<by_block_pool>, [] {
    std::array<void*, cells_used> cells = {};
    for (void*& each : cells) each = by_block_pool::allocate();
    std::sort(cells.begin(), cells.end(), std::less<>());
    static_cast<std::byte*>(cells.back())[sizeof(cell)] ^= std::byte{1};
    by_block_pool::deallocate(cells.front());
    by_block_pool::pool().release();
  });
}

TEST_F(a_handler, may_use_a_pool_whose_slabs_are_about_to_go) {
  if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "looked for at level hardened, where no tool does";
  ASHLAR_EXPECT_LAST_WORDS(
      release_overflown(),
      "ashlar: overflow: bytes past the end of a block were written to, pointer 0x*, resource 0x*, "
      "expected 48, got 49");
}

TEST_F(a_handler, may_use_a_pool_that_is_misused_under_its_users_hands) {
  using pool = by_allocator<std::mutex>;
  const auto misuse_it = [](auto& held) { held.deallocate(&held); };
  ASHLAR_EXPECT_LAST_WORDS(misuse(&use_pool<pool>, [&] { pool::allocator::with_pool(misuse_it); }),
                           "ashlar: invalid_free: freed a pointer that is not of this pool, pointer 0x*, "
                           "resource 0x*, size 48");
}

TEST_F(a_handler, may_use_a_synchronized_resource_that_noticed) {
  ASHLAR_EXPECT_LAST_WORDS(free_twice<by_synchronized<ashlar::block_pool<>>>(),
                           "ashlar: double_free: freed a cell that is free, pointer 0x*, resource 0x*, size 192");
}

// Misuse that every level detects: of a guarded block, and an invalid alignment.
TEST_F(a_handler_at_every_level, may_use_a_synchronized_resource_that_noticed) {
  using guarded = by_synchronized<ashlar::guarding<ashlar::block_pool<>>>;
  ASHLAR_EXPECT_LAST_WORDS(
      misuse(&use_pool<guarded>,
             [] {
               auto* const bytes = static_cast<std::byte*>(guarded::allocate());
               write_unseen(bytes + sizeof(cell));
               guarded::deallocate(bytes);
             }),
      "ashlar: overflow: bytes past the end of a block were written to, pointer 0x*, resource 0x*, "
      "expected 48, got 49");
  ASHLAR_EXPECT_LAST_WORDS(misuse(&use_pool<guarded>, [] { static_cast<void>(guarded::resource().allocate(8, 3)); }),
                           "ashlar: precondition: alignment is not a power of two");
}

// With cells in thread caches, two frees by threads without a cache meet in the shared slabs.
TEST_F(a_handler_at_every_level, may_use_the_shared_pool_that_noticed_late) {
  using pool = by_allocator<ashlar::thread_cached>;
  ASHLAR_EXPECT_LAST_WORDS(misuse(&use_pool<pool>,
                                  [] {
                                    std::array<void*, 300> cells;
                                    for (void*& each : cells) each = pool::allocate();
                                    const auto free_all = [&] {
                                      for (void* const each : cells) pool::deallocate(each);
                                    };
                                    std::thread(free_all).join();
                                    std::thread(free_all).join();
                                  }),
                           free_cell);
}

constexpr std::size_t huge_bytes = std::size_t{5} << 20;

void* left_alive;  // of another thread, which has ended

// A request of `most` bytes, or of more, would inspect some dead blocks first.
template <class F>
void misuse_heap(F f, std::size_t most = huge_bytes) {
  ashlar::heap<> all;
  const auto use_all = [&all, most] {
    all.deallocate(std::exchange(left_alive, nullptr));
    for (const std::size_t bytes : {std::size_t{40}, std::size_t{100'000}, most})
      all.deallocate(all.try_allocate(bytes));
  };
  misuse(use_all, [&] { f(all); });
}

const std::string written = "ashlar: corrupt_link: a free block was written to, pointer 0x*, resource 0x*, size ";

TEST_F(a_handler_of_dead_blocks, may_use_the_heap_whose_huge_block_it_was) {
  ASHLAR_EXPECT_LAST_WORDS(misuse_heap([](ashlar::heap<>& all) {
                             void* const p = all.allocate(huge_bytes);
                             all.deallocate(p);
                             write_unseen(p);
                             static_cast<void>(all.allocate(huge_bytes));
                           }),
                           written + "4096");
}

TEST_F(a_handler_of_dead_blocks, may_use_the_heap_which_gives_memory_of_ended_threads_back) {
  ASHLAR_EXPECT_LAST_WORDS(misuse_heap(
                               [](ashlar::heap<>& all) {
                                 static_cast<void>(all.allocate(64));
                                 std::thread([&] {
                                   left_alive = all.allocate(64);
                                   std::vector<void*> cells(2000);
                                   for (void*& each : cells) each = all.allocate(1000);
                                   for (std::size_t i = 0; i < cells.size(); ++i)
                                     if (i % 8 != 0) all.deallocate(cells[i]);
                                   write_unseen(cells[1001]);
                                 }).join();
                                 for (int i = 0; i < 2; ++i) static_cast<void>(all.allocate((3 << 20) - 1));
                               },
                               200'000),
                           written + "1024");
}

TEST_F(a_handler_of_dead_blocks, may_use_the_heap_whose_segment_was_cached) {
  ASHLAR_EXPECT_LAST_WORDS(misuse_heap([](ashlar::heap<>& all) {
                             void* p = all.allocate(64);
                             std::thread([&] { p = all.allocate(3 << 20), all.deallocate(p); }).join();
                             static_cast<void>(
                                 all.allocate(huge_bytes));  // this request inspects the heap of the ended thread
                             write_unseen(ashlar::detail::segment::of(p));
                             for (int i = 0; i < 3; ++i) static_cast<void>(all.allocate(3 << 20));
                           }),
                           written + "4096");
}

// New threads of the heap are counted while its former ones are visited.
TEST_F(a_handler_of_dead_blocks, may_use_the_heap_that_is_released) {
  ASHLAR_EXPECT_LAST_WORDS(misuse_heap([](ashlar::heap<>& all) {
                             void* const p = all.allocate(64);
                             static_cast<void>(all.allocate(64));
                             all.deallocate(p);
                             write_unseen(p);
                             all.release();
                           }),
                           written + "80");
}

}  // namespace
