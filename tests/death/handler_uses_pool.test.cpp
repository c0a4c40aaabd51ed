// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that a fault handler may use the reporting pool, in its own thread and in another one: no lock is held.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/adaptor/guarding.hpp>
#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/death/last_words.hpp"
#include "tests/support/build.hpp"

namespace {

struct cell {
  alignas(16) std::byte bytes[48];
};

constexpr std::size_t cells_used = 3000;

/// `Pool` has static `allocate()` and `deallocate(void*)`.
template <class Pool>
void use() {
  static std::array<void*, cells_used> cells;
  for (void*& each : cells) each = Pool::allocate();
  for (void* const each : cells) Pool::deallocate(each);
}

template <class Pool>
void handler(const ashlar::violation& v) noexcept {
  use<Pool>();
  std::thread(&use<Pool>).join();
  ashlar::violation::print(v);
}

// The alarm ends a handler that waits forever; its signal is not the expected one.
template <class Pool, class F>
void misuse(F f) {
  ::alarm(60);
  ashlar::set_violation_handler(&handler<Pool>);
  f();
}

template <class Pool>
void free_twice() {
  misuse<Pool>([] {
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

struct by_shared_pool {
  static ashlar::shared_block_pool<>& pool() {
    static ashlar::shared_block_pool<> shared({.cell_bytes = sizeof(cell)});
    return shared;
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

const std::string line = "ashlar: double_free: freed a cell that is free, pointer 0x*, resource 0x*, size 48";

class a_handler : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
    if (ashlar_test::has_tsan) GTEST_SKIP() << "the tool does not let a child have threads";
  }
};

TEST_F(a_handler, may_use_the_shared_pool_that_noticed) {
  ASHLAR_EXPECT_LAST_WORDS(free_twice<by_shared_pool>(), line);
}

TEST_F(a_handler, may_use_the_pools_behind_thread_cached_allocators) {
  ASHLAR_EXPECT_LAST_WORDS(free_twice<by_allocator<ashlar::thread_cached>>(), line);
}

TEST_F(a_handler, may_use_the_pools_behind_allocators_with_a_lock) {
  ASHLAR_EXPECT_LAST_WORDS(free_twice<by_allocator<ashlar::spin_lock>>(), line);
  ASHLAR_EXPECT_LAST_WORDS(free_twice<by_allocator<std::mutex>>(), line);
}

struct by_block_pool {
  static ashlar::block_pool<>& pool() {
    static ashlar::block_pool<> own({.cell_bytes = sizeof(cell), .slab_bytes = 4096});
    return own;
  }
  static void* allocate() { return pool().allocate(); }
  static void deallocate(void* p) { pool().deallocate(p); }
};

// The slab at the highest address has a cell with a write behind it, the one at the lowest a free cell.
void release_overflown() {
  misuse<by_block_pool>([] {
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
  ASHLAR_EXPECT_LAST_WORDS(misuse<pool>([&] { pool::allocator::with_pool(misuse_it); }),
                           "ashlar: invalid_free: freed a pointer that is not of this pool, pointer 0x*, "
                           "resource 0x*, size 48");
}

TEST_F(a_handler, may_use_a_synchronized_resource_that_noticed) {
  ASHLAR_EXPECT_LAST_WORDS(free_twice<by_synchronized<ashlar::block_pool<>>>(),
                           "ashlar: double_free: freed a cell that is free, pointer 0x*, resource 0x*, size 192");
}

// AddressSanitizer would end the process at the write, before the canary is verified.
ASHLAR_TEST_UNSEEN void write_unseen(std::byte* at) { *at ^= std::byte{1}; }

// Misuse that every level detects: of a guarded block, and an invalid alignment.
TEST(a_handler_at_every_level, may_use_a_synchronized_resource_that_noticed) {
  if (ashlar_test::has_tsan) GTEST_SKIP() << "the tool does not let a child have threads";
  using guarded = by_synchronized<ashlar::guarding<ashlar::block_pool<>>>;
  ASHLAR_EXPECT_LAST_WORDS(
      misuse<guarded>([] {
        auto* const bytes = static_cast<std::byte*>(guarded::allocate());
        write_unseen(bytes + sizeof(cell));
        guarded::deallocate(bytes);
      }),
      "ashlar: overflow: bytes past the end of a block were written to, pointer 0x*, resource 0x*, "
      "expected 48, got 49");
  ASHLAR_EXPECT_LAST_WORDS(misuse<guarded>([] { static_cast<void>(guarded::resource().allocate(8, 3)); }),
                           "ashlar: precondition: alignment is not a power of two");
}

// With cells in thread caches, two frees by threads without a cache meet in the shared slabs.
TEST(a_handler_at_every_level, may_use_the_shared_pool_that_noticed_late) {
  if (ashlar_test::has_tsan) GTEST_SKIP() << "the tool does not let a child have threads";
  using pool = by_allocator<ashlar::thread_cached>;
  ASHLAR_EXPECT_LAST_WORDS(misuse<pool>([] {
                             std::array<void*, 300> cells;
                             for (void*& each : cells) each = pool::allocate();
                             const auto free_all = [&] {
                               for (void* const each : cells) pool::deallocate(each);
                             };
                             std::thread(free_all).join();
                             std::thread(free_all).join();
                           }),
                           line);
}

}  // namespace
