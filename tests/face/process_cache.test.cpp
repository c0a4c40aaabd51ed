// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the place of a thread's cache of a process-wide pool: in programs, in libraries, and in both at once.
#include <ashlar/face/pool_allocator.hpp>

#include <cstddef>
#include <set>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>

#include "tests/support/child.hpp"

namespace {

using ashlar::detail::process_pool;

template <class IsLibraryCode>
class process_cache_of : public ::testing::Test {
protected:
  template <std::size_t CellBytes>
  struct cells_of {
    using pool = process_pool<CellBytes, 2, ashlar::thread_cached>;
    using cache = ashlar::detail::process_cache<pool, IsLibraryCode::value>;

    static void* allocate() {
      void* const cell = pool::shared().take(cache::recent());
      return cell != nullptr ? cell : pool::shared().allocate_slow(cache::usable());
    }
    static void deallocate(void* cell) {
      if (!pool::shared().put(cache::recent(), cell)) pool::shared().deallocate_slow(cache::usable(), cell);
    }
    static std::vector<void*> allocate_many(std::size_t count) {
      std::vector<void*> taken(count);
      for (void*& each : taken) each = allocate();
      return taken;
    }
    static void deallocate_many(const std::vector<void*>& taken) {
      for (void* const each : taken) deallocate(each);
    }
  };
};

using kinds = ::testing::Types<std::false_type, std::true_type>;
TYPED_TEST_SUITE(process_cache_of, kinds);

// Each test has its own size, and so its own pool; the kinds would share one, as in a process. At this alignment no
// other test has objects.
template <class IsLibraryCode>
constexpr std::size_t size_for(std::size_t bytes) {
  return bytes + (IsLibraryCode::value ? 8 : 0);
}

TYPED_TEST(process_cache_of, gives_cached_cells_back_when_its_thread_ends) {
  using cells = typename TestFixture::template cells_of<size_for<TypeParam>(64)>;
  void* kept = nullptr;
  std::thread([&] {
    const std::vector<void*> taken = cells::allocate_many(3000);
    EXPECT_EQ(std::set<void*>(taken.begin(), taken.end()).size(), 3000u);
    cells::deallocate_many(taken);
    kept = cells::allocate();
  }).join();
  EXPECT_EQ(cells::pool::shared().live(), 1u);
  cells::deallocate(kept);
  EXPECT_EQ(cells::pool::shared().live(), 0u);
  EXPECT_TRUE(cells::pool::shared().invariant());
}

// Its destructor runs after the participants of the thread's end, which entered later.
template <class Cells>
struct late_user {
  bool* is_done = nullptr;
  ~late_user() {
    void* const cell = Cells::allocate();
    *is_done = cell != nullptr && Cells::cache::usable() == nullptr && !Cells::cache::recent().is_open();
    Cells::deallocate(cell);
  }
};

TYPED_TEST(process_cache_of, is_closed_for_what_its_thread_does_last) {
  using cells = typename TestFixture::template cells_of<size_for<TypeParam>(80)>;
  bool is_done = false;
  std::thread([&] {
    thread_local late_user<cells> late;
    late.is_done = &is_done;
    cells::deallocate(cells::allocate());
  }).join();
  EXPECT_TRUE(is_done);
  EXPECT_EQ(cells::pool::shared().live(), 0u);
}

TYPED_TEST(process_cache_of, works_in_a_child_of_a_fork) {
  using cells = typename TestFixture::template cells_of<size_for<TypeParam>(96)>;
  const std::vector<void*> taken = cells::allocate_many(100);
  EXPECT_TRUE(ashlar_test::child_does([&] {
    cells::deallocate_many(taken);
    cells::deallocate_many(cells::allocate_many(3000));
    return cells::pool::shared().live() == 0 && cells::pool::shared().invariant();
  }));
  cells::deallocate_many(taken);
}

TEST(process_cache, a_program_and_a_library_have_one_each_in_a_pool_that_they_share) {
  using pool = process_pool<128, 2, ashlar::thread_cached>;
  using programs = ashlar::detail::process_cache<pool, false>;
  using librarys = ashlar::detail::process_cache<pool, true>;
  const auto use = [] {
    if (!programs::usable()->is_mine() || !librarys::usable()->is_mine()) return false;
    void* const first = pool::shared().allocate_slow(programs::usable());
    void* const second = pool::shared().allocate_slow(librarys::usable());
    pool::shared().deallocate_slow(librarys::usable(), first);
    pool::shared().deallocate_slow(programs::usable(), second);
    return first != second && pool::shared().invariant();
  };
  EXPECT_TRUE(use());
  EXPECT_EQ(pool::shared().live(), 0u);  // both belong to the thread
  EXPECT_NE(&programs::recent(), &librarys::recent());
  EXPECT_TRUE(ashlar_test::child_does([&] {
    pool::shared().flush(programs::recent());
    return use() && pool::shared().live() == 0;
  }));
  std::thread([&] { EXPECT_TRUE(use()); }).join();
  EXPECT_TRUE(use());
}

// A program may be linked with objects compiled for libraries: the thread has a cache for each kind.
TEST(process_pool, flush_gives_the_cached_cells_back_in_either_kind_of_code) {
  using pool = process_pool<112, 8, ashlar::thread_cached>;
  using of_program = ashlar::detail::process_cache<pool, false>;
  using of_library = ashlar::detail::process_cache<pool, true>;
  for (auto* const mine : {of_program::usable(), of_library::usable()})
    pool::shared().deallocate_slow(mine, pool::shared().allocate_slow(mine));
  pool::flush();
  EXPECT_EQ(of_program::recent().held_cells(), 0u);
  EXPECT_EQ(of_library::recent().held_cells(), 0u);
  pool::with_pool([](auto& p) { static_cast<void>(p.trim()); });
  EXPECT_EQ(pool::with_pool([](auto& p) { return p.slabs(); }), 0u);
}

// Another thread's cache is open meanwhile, and holds a cell.
TEST(process_pool, flush_leaves_the_cached_cells_of_other_threads) {
  using pool = process_pool<120, 8, ashlar::thread_cached>;
  pool::deallocate(pool::allocate());
  std::thread([] {
    pool::deallocate(pool::allocate());
    pool::flush();
    EXPECT_EQ(ashlar::detail::process_cache<pool>::recent().held_cells(), 0u);
  }).join();
  if (pool::shared().caches) EXPECT_NE(ashlar::detail::process_cache<pool>::recent().held_cells(), 0u);
  pool::flush();
}

}  // namespace
