// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a pool with several caches: against an oracle in a random order, with failing memory, among threads.
#include <ashlar/detail/slab/cached_pool.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/fail_each_allocation.hpp"
#include "tests/support/live_blocks.hpp"
#include "tests/support/pool_user.hpp"
#include "tests/support/serialised_ref.hpp"

namespace {

using ashlar::detail::or_null;
using ashlar_test::counting_resource;
using ashlar_test::live_blocks;
using ashlar_test::nothing;
using ashlar_test::pool_user;
using ashlar_test::serialised_ref;

using pool_type = ashlar::detail::cached_pool<ashlar::detail::dynamic_geometry, serialised_ref<>, ashlar::spin_lock>;
using user = pool_user<pool_type>;
static_assert(ashlar::try_resource<user>);

ashlar::detail::dynamic_geometry cells_of(std::size_t bytes, std::size_t slab_bytes) {
  return ashlar::detail::dynamic_geometry(
      ashlar::detail::make_slab_geometry({.cell_bytes = bytes, .slab_bytes = slab_bytes}));
}

struct world {
  counting_resource<> upstream;
  pool_type pool;

  explicit world(std::size_t cell_bytes = 32, std::size_t slab_bytes = 8192, std::size_t retain_slabs = 1)
      : pool(cells_of(cell_bytes, slab_bytes), retain_slabs, upstream) {}
};

TEST(cached_pool, caches_where_it_does_not_check) { EXPECT_EQ(pool_type::caches, !ashlar_test::is_checked); }

TEST(cached_pool, caches_nothing_from_level_checked_on) {
  world w;
  user one(w.pool);
  void* const cell = one.allocate();
  EXPECT_EQ(one.cache().held_cells() == 0, ashlar_test::is_checked);
  EXPECT_EQ(w.pool.live(), 1u);
  one.deallocate(cell);
  EXPECT_EQ(one.cache().held_cells() == 0, ashlar_test::is_checked);
  EXPECT_EQ(w.pool.live(), 0u);
}

TEST(cached_pool, serves_a_thread_that_has_no_cache) {
  world w;
  void* const first = w.pool.allocate_slow(nullptr);
  void* const second = w.pool.allocate_slow<or_null>(nullptr);
  EXPECT_EQ(w.pool.live(), 2u);
  EXPECT_TRUE(w.pool.owns(first) && w.pool.owns(second));
  w.pool.deallocate_slow(nullptr, first);
  w.pool.deallocate_slow(nullptr, second);
  EXPECT_EQ(w.pool.live(), 0u);
  EXPECT_TRUE(w.pool.invariant());
}

TEST(cached_pool, one_user_frees_what_another_took) {
  world w;
  user one(w.pool), other(w.pool);
  std::vector<void*> cells(5000);
  for (void*& cell : cells) cell = one.allocate();
  for (void* const cell : cells) other.deallocate(cell);
  EXPECT_EQ(w.pool.live(), 0u);
  one.flush();
  other.flush();
  EXPECT_EQ(w.pool.live(), 0u);
  EXPECT_TRUE(w.pool.invariant());
  static_cast<void>(w.pool.trim());
  EXPECT_EQ(w.pool.slabs(), 0u);
}

TEST(cached_pool, cells_outlive_their_thread) {
  world w;
  std::vector<void*> cells(3000);
  {
    user leaving(w.pool);
    for (void*& cell : cells) cell = leaving.allocate();
  }
  EXPECT_EQ(w.pool.live(), cells.size());
  user heir(w.pool);
  for (void* const cell : cells) heir.deallocate(cell);
  EXPECT_EQ(w.pool.live(), 0u);
}

TEST(cached_pool, counts_cells_cached_by_another_thread_as_live) {
  world w;
  user mine(w.pool);
  void* const cell = mine.allocate();
  EXPECT_EQ(w.pool.live(), 1u);
  const std::size_t cached = mine.cache().held_cells();
  std::size_t seen = 0;
  std::thread([&] { seen = w.pool.live(); }).join();
  EXPECT_EQ(seen, 1 + cached);
  mine.deallocate(cell);
  mine.flush();
  std::thread([&] { seen = w.pool.live(); }).join();
  EXPECT_EQ(seen, 0u);
}

TEST(cached_pool, takes_all_back_when_it_is_released) {
  world w;
  user one(w.pool), other(w.pool);
  for (int i = 0; i < 2000; ++i) static_cast<void>(one.allocate());
  other.deallocate(one.allocate());
  w.pool.release();
  EXPECT_EQ(w.pool.live(), 0u);
  EXPECT_EQ(w.pool.capacity(), 0u);
  EXPECT_TRUE(w.pool.invariant());
  one.deallocate(other.allocate());
  EXPECT_EQ(w.pool.live(), 0u);
}

TEST(cached_pool, reserves) {
  world w;
  user one(w.pool);
  w.pool.reserve(10'000);
  EXPECT_GE(w.pool.capacity(), 10'000u);
  const std::size_t asked = w.upstream.allocations();
  live_blocks blocks(one);
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(blocks.try_allocate(32, 1));
  EXPECT_EQ(w.upstream.allocations(), asked);
#if defined(__cpp_exceptions)
  EXPECT_THROW(w.pool.reserve(ashlar::detail::max_size), std::bad_alloc);
  EXPECT_THROW(w.pool.reserve(ashlar::detail::max_size / 32), std::bad_alloc);
#endif
}

void free_twice() {
  world w;
  user one(w.pool), other(w.pool);
  void* const cell = one.allocate();
  one.deallocate(cell);
  other.deallocate(cell);
}

void free_the_middle() {
  world w;
  user one(w.pool);
  one.deallocate(static_cast<std::byte*>(one.allocate()) + 8);
}

void free_to_another_pool() {
  world w, other;
  user one(w.pool), stranger(other.pool);
  stranger.deallocate(stranger.allocate());
  stranger.deallocate(one.allocate());
}

TEST(cached_pool, misuse_is_named_at_the_levels_that_check) {
  if constexpr (!ashlar_test::is_checked) GTEST_SKIP() << "level fast does not look";
  ASHLAR_EXPECT_DEATH(free_twice(),
                      "ashlar: double_free: freed a cell that is free, pointer 0x*, resource 0x*, size 32");
  ASHLAR_EXPECT_DEATH(
      free_the_middle(),
      "ashlar: misaligned_free: freed a pointer into the middle of a cell, pointer 0x*, resource 0x*, size 32");
  EXPECT_EXIT(free_to_another_pool(), ::testing::KilledBySignal(SIGABRT), "freed ");
}

// Several users in one thread, as one resource: the current user changes, and sometimes there is none.
class anyone {
public:
  static constexpr std::size_t users = 3;

  anyone(pool_type& pool, std::mt19937& random) : pool_(pool), random_(random) {
    for (auto& each : users_) each = std::make_unique<user>(pool_);
  }

  void* allocate(std::size_t, std::size_t) {
    turn();
    return now_ == nullptr ? pool_.allocate_slow(nullptr) : now_->allocate();
  }
  void* try_allocate(std::size_t, std::size_t) noexcept {
    turn();
    return now_ == nullptr ? pool_.allocate_slow<or_null>(nullptr) : now_->try_allocate();
  }
  void deallocate(void* cell, std::size_t, std::size_t) noexcept {
    turn();
    now_ == nullptr ? pool_.deallocate_slow(nullptr, cell) : now_->deallocate(cell);
  }
  bool operator==(const anyone& other) const noexcept { return this == &other; }

  void flush_one() { users_[random_() % users]->flush(); }

  void replace_one() {
    std::unique_ptr<user>& some = users_[random_() % users];
    if (now_ == some.get()) now_ = nullptr;
    some = nullptr;
    some = std::make_unique<user>(pool_);
  }

private:
  // Mostly the same user continues, so that caches fill and overflow.
  void turn() noexcept {
    if (random_() % 100 == 0) now_ = random_() % 10 == 0 ? nullptr : users_[random_() % users].get();
  }

  pool_type& pool_;
  std::mt19937& random_;
  std::array<std::unique_ptr<user>, users> users_;
  user* now_ = nullptr;
};

// The seed determines the order; a user frees cells that another one took.
class several_users {
public:
  explicit several_users(unsigned seed, std::size_t cell_bytes, std::size_t slab_bytes)
      : random_(seed), cell_bytes_(cell_bytes), world_(cell_bytes, slab_bytes, seed % 3) {}

  void run(int steps) {
    for (std::size_t most = 4000; steps != 0; --steps) {
      if (below(500) == 0) most = below(2) == 0 ? below(4000) : below(100);
      if (blocks_.size() < most && below(4) != 0) ASSERT_TRUE(blocks_.try_allocate(cell_bytes_, 1));
      else if (blocks_.size() != 0) blocks_.free(below(4) == 0 ? below(blocks_.size()) : blocks_.size() - 1);
      if (below(300) == 0) disturb();
      if (below(1000) == 0) check();
    }
    blocks_.free_all();
    check();
  }

private:
  [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }

  void disturb() {
    switch (below(4)) {
      case 0: anyone_.flush_one(); break;
      case 1: anyone_.replace_one(); break;
      case 2: static_cast<void>(world_.pool.trim()); break;
      case 3: world_.pool.reserve(below(1000)); break;
      default: break;
    }
  }

  void check() {
    ASSERT_TRUE(world_.pool.invariant());
    ASSERT_EQ(world_.pool.live(), blocks_.size());
    ASSERT_GE(world_.pool.capacity(), blocks_.size());
    ASSERT_TRUE(blocks_.all_intact());
    if (blocks_.size() != 0) ASSERT_TRUE(world_.pool.owns(blocks_[0].data));
  }

  std::mt19937 random_;
  std::size_t cell_bytes_;
  world world_;
  anyone anyone_{world_.pool, random_};
  live_blocks<anyone> blocks_{anyone_};
};

TEST(cached_pool, agrees_with_an_oracle_for_frees_by_any_thread) {
  constexpr int steps = ashlar_test::cases_of_build(6'000, 40'000);
  for (const auto& [cell, slab] : {std::pair{4u, 1024u}, {24u, 4096u}, {100u, 16384u}, {3000u, 32768u}})
    for (unsigned seed = 0; seed < 3; ++seed) several_users(seed, cell, slab).run(steps);
}

// A pool with one user, as an object that fails and recovers.
struct failing_pool {
  mutable pool_type pool;
  user only{pool};

  explicit failing_pool(counting_resource<>& upstream) : pool(cells_of(64, 4096), 0, upstream) {}
  [[nodiscard]] bool invariant() const { return pool.invariant(); }
};

TEST(cached_pool, survives_each_failure_of_its_upstream) {
  ashlar_test::fail_each_allocation([](counting_resource<>& upstream) { return failing_pool(upstream); },
                                    [](failing_pool& object) {
                                      live_blocks blocks(object.only);
                                      bool good = true;
                                      for (int i = 0; i < 2000 && good; ++i) good = blocks.try_allocate(64, 1);
                                      EXPECT_EQ(object.pool.live(), blocks.size());
                                      EXPECT_TRUE(blocks.all_intact());
                                      return good;
                                    });
}

#if defined(__cpp_exceptions)
TEST(cached_pool, survives_each_failure_that_is_thrown) {
  ashlar_test::fail_each_allocation([](counting_resource<>& upstream) { return failing_pool(upstream); },
                                    [](failing_pool& object) {
                                      live_blocks blocks(object.only);
                                      for (int i = 0; i < 500; ++i) blocks.allocate(64, 1);
                                      object.pool.reserve(1000);
                                    });
}
#endif

// Every thread takes cells, and frees cells of any thread; each cell carries its holder.
TEST(cached_pool, hands_each_cell_to_one_thread_at_a_time) {
  using shared_pool =
      ashlar::detail::cached_pool<ashlar::detail::static_geometry<32, 8>, ashlar::page_resource, std::mutex>;
  constexpr std::size_t threads = 4;
  constexpr int rounds = ashlar_test::cases_of_build(20'000, 200'000);
  shared_pool pool({}, 1);
  std::array<std::atomic<std::uint64_t*>, 1024> table = {};
  const auto work = [&](std::uint64_t who) {
    pool_user<shared_pool> me(pool);
    std::mt19937 random(static_cast<unsigned>(who));
    for (int round = 0; round < rounds; ++round) {
      auto* const mine = static_cast<std::uint64_t*>(me.allocate());
      mine[0] = who, mine[1] = ~who;
      // Pairs with itself: what is swapped in was written by another thread.
      std::uint64_t* const other = table[random() % table.size()].exchange(mine, std::memory_order_acq_rel);
      if (other == nullptr) continue;
      ASSERT_EQ(other[0], ~other[1]) << "two have it";
      other[0] = other[1] = who;
      me.deallocate(other);
    }
  };
  std::vector<std::thread> all;
  for (std::uint64_t who = 1; who <= threads; ++who) all.emplace_back(work, who);
  for (std::thread& each : all) each.join();
  const auto held = std::ranges::count_if(table, [](const auto& each) { return each.load() != nullptr; });
  EXPECT_EQ(pool.live(), static_cast<std::size_t>(held));
  EXPECT_TRUE(pool.invariant());
}

}  // namespace
