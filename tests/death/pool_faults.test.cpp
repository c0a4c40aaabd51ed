// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of misuse of pools beyond the scenes of matrix/: counts of leaks, lengths of runs, slabs that come and go, and
// sweeps of guards.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slab/free_check.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/face/pmr_pools.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::block_pool;
using ashlar::fault;
using ashlar::leaked_blocks;
using ashlar_test::caught_in;
using ashlar_test::counting_resource;
using in_buffer = block_pool<ashlar::resource_ref<ashlar::buffer_resource>>;

const std::string where = ", pointer 0x*, resource 0x*";

class pool_faults : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }
};

class pool_writes : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "looked for at hardened, where no tool does";
  }
};

std::vector<void*> take(auto& pool, std::size_t cells) {
  std::vector<void*> taken(cells);
  for (void*& cell : taken) cell = pool.allocate();
  return taken;
}

fault kind_of(const auto& f) {
  const auto seen = caught_in(f);
  EXPECT_TRUE(seen.has_value());
  return seen ? seen->kind : fault::precondition;
}

TEST_F(pool_faults, cells_that_were_never_handed_out_are_free) {
  for (const std::size_t cell_bytes : {1u, 48u, 4096u, 65536u}) {
    block_pool<> pool({.cell_bytes = cell_bytes});
    auto* const first = static_cast<std::byte*>(pool.allocate());
    EXPECT_EQ(kind_of([&] { pool.deallocate(first + pool.cell_stride()); }), fault::double_free);
    pool.deallocate(first);
  }
}

TEST_F(pool_faults, slabs_leave_the_registry_when_they_are_given_back) {
  block_pool<> pool({.cell_bytes = 48, .slab_bytes = 4096, .retain_slabs = 0});
  const std::vector<void*> cells = take(pool, 1000);
  for (void* const cell : cells) EXPECT_EQ(ashlar::detail::process_slabs.find(cell).owner, &pool);
  for (void* const cell : cells) pool.deallocate(cell);
  static_cast<void>(pool.trim());
  for (void* const cell : cells) EXPECT_EQ(ashlar::detail::process_slabs.find(cell).owner, nullptr);
  EXPECT_TRUE(ashlar::detail::process_slabs.invariant());
  EXPECT_EQ(kind_of([&] { pool.deallocate(cells[0]); }), fault::invalid_free);
}

TEST_F(pool_faults, addresses_that_another_pool_reuses_are_of_that_pool) {
  const ashlar::block_pool_options options = {.cell_bytes = 48, .slab_bytes = 4096};
  alignas(4096) static std::array<std::byte, 4096> memory;
  ashlar::buffer_resource buffer(memory);
  std::vector<void*> old;
  {
    in_buffer gone(options, buffer);
    old = take(gone, 10);
    gone.release();
  }
  in_buffer next(options, buffer);
  void* const cell = next.allocate();
  ASSERT_EQ(cell, old[0]);
  EXPECT_EQ(kind_of([&] { next.deallocate(old[9]); }), fault::double_free);
  next.deallocate(cell);
}

TEST_F(pool_faults, pools_of_two_locks_are_two) {
  struct alignas(16) own_size {
    std::byte bytes[48 * 9];
  };
  ashlar::pool_allocator<own_size> alone;
  ashlar::pool_allocator<own_size, ashlar::spin_lock> shared;
  own_size* const p = alone.allocate(1);
  ASHLAR_EXPECT_LAST_WORDS(shared.deallocate(p, 1),
                           "ashlar: wrong_pool: freed a cell of another pool" + where + ", owner 0x*, size 432");
  alone.deallocate(p, 1);
}

// Every length against every other; a length of the same class is right.
TEST_F(pool_faults, runs_of_every_length_are_not_freed_by_another) {
  block_pool<> pool({.cell_bytes = 48, .cell_alignment = 16});
  void* const pin = pool.allocate();  // keeps the first slab
  for (std::size_t length = 1; length <= ashlar::detail::longest_run; ++length) {
    void* const run = pool.allocate_run(length);
    for (std::size_t given = 1; given <= 70; ++given) {
      if (ashlar::detail::run_length(length) == (given <= 64 ? ashlar::detail::run_length(given) : given)) continue;
      const auto seen = caught_in([&] { pool.deallocate_run(run, given); });
      ASSERT_TRUE(seen.has_value()) << length << ", freed by " << given;
      ASSERT_EQ(seen->kind, fault::size_mismatch);
      ASSERT_EQ(seen->expected, ashlar::detail::run_length(length));
    }
    pool.deallocate_run(run, ashlar::detail::run_length(length));
  }
  EXPECT_TRUE(pool.invariant());
  pool.deallocate(pin);
}

TEST_F(pool_faults, runs_are_not_freed_in_parts_or_among_cells) {
  block_pool<> pool({.cell_bytes = 48, .cell_alignment = 16});
  std::array<void*, 100> cells;
  pool.allocate_many(cells);
  auto* const run = static_cast<std::byte*>(pool.allocate_run(4));
  const auto many_with = [&](std::size_t at, void* wrong) {
    std::array<void*, 100> others = cells;
    others[at] = wrong;
    pool.deallocate_many(others);
  };
  const std::string into_a_run =
      "ashlar: misaligned_free: freed a pointer into the middle of a run" + where + ", size 48";
  const std::string other_length = "ashlar: size_mismatch: freed a run with another length than it was allocated with" +
                                   where + ", block of 48 bytes, expected ";
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate_run(run + 3 * pool.cell_stride(), 1), into_a_run);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(run + pool.cell_stride()), into_a_run);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(run, 48, 16), other_length + "4, got 1");
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate_run(cells[0], 2), other_length + "1, got 2");
  ASHLAR_EXPECT_LAST_WORDS(many_with(99, cells[3]),
                           "ashlar: double_free: freed a cell that is free" + where + ", size 48");
  ASHLAR_EXPECT_LAST_WORDS(many_with(7, run), other_length + "4, got 1");
  ASHLAR_EXPECT_LAST_WORDS(many_with(7, run + pool.cell_stride()), into_a_run);
  pool.release();
}

// A cell at the start of a page would unmap the page otherwise, with other cells in it.
TEST_F(pool_faults, larger_blocks_of_the_upstream_are_not_freed_as_cells) {
  alignas(4096) static std::array<std::byte, 64 * 1024> memory;
  ashlar::buffer_resource buffer(memory);
  in_buffer pool({.cell_bytes = 48, .slab_bytes = 8192}, buffer);
  void* const block = pool.allocate(1000, 16);
  void* const run = pool.allocate_run(100);
  const std::string larger = "ashlar: size_mismatch: freed a larger block with the size of a cell" + where;
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(block, 32, 16), larger + ", size 32");
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate_run(run, 4), larger + ", size 192");
  pool.deallocate_run(run, 100);
  pool.deallocate(block, 1000, 16);
}

// The marks come from the upstream. Without them a length is unknown, but a free cell is still detected.
TEST_F(pool_faults, runs_are_checked_as_far_as_can_be_without_memory) {
  counting_resource<> upstream;
  block_pool<ashlar::resource_ref<counting_resource<>>> starved({.cell_bytes = 48, .slab_bytes = 8192}, upstream);
  upstream.fail_at(1);  // the first is the slab
  void* const run = starved.allocate_run(8);
  void* const next = starved.allocate_run(8);
  EXPECT_FALSE(caught_in([&] { starved.deallocate_run(run, 8); }).has_value());
  EXPECT_EQ(kind_of([&] { starved.deallocate_run(run, 8); }), fault::double_free);
  EXPECT_FALSE(caught_in([&] { starved.deallocate_run(next, 8); }).has_value());
  auto* const again = static_cast<std::byte*>(starved.allocate_run(4));
  ASHLAR_EXPECT_LAST_WORDS((starved.deallocate(again + starved.cell_stride()), starved.deallocate_run(again, 4)),
                           "ashlar: double_free: freed a run with a cell that is free" + where + ", size 48");
  starved.deallocate_run(again, 4);
}

// A slab may have room for the cells of a run, but not for its rounded length: then the run comes from the upstream.
TEST_F(pool_faults, runs_that_nearly_fit_a_slab_come_from_the_upstream_and_go_there) {
  for (const std::size_t cell_bytes : {1u, 7u, 24u, 59u})
    for (std::size_t slab_bytes = 1024; slab_bytes <= 8192; slab_bytes *= 2) {
      block_pool<> pool({.cell_bytes = cell_bytes, .slab_bytes = slab_bytes});
      for (std::size_t n = 0; n <= 130; ++n) pool.deallocate_run(pool.allocate_run(n), n);
      EXPECT_EQ(pool.live(), 0u) << cell_bytes << ' ' << slab_bytes;
    }
}

struct told {
  std::size_t count;
  std::size_t block_bytes;
  std::size_t bytes;
  std::vector<const void*> first;
};
std::vector<told> reports;

class pool_leaks : public pool_faults {
protected:
  void SetUp() override {
    reports.clear();
    ashlar::set_leak_handler([](const leaked_blocks& leak) noexcept {
      reports.push_back({leak.count, leak.block_bytes, leak.bytes, {leak.first.begin(), leak.first.end()}});
    });
    pool_faults::SetUp();
  }
  void TearDown() override { ashlar::set_leak_handler(nullptr); }
};

// A release declares that all blocks may go.
TEST_F(pool_leaks, are_counted_exactly) {
  for (const std::size_t cell_bytes : {1u, 24u, 4096u})
    for (const std::size_t leaked : {1u, 7u, 8u, 9u, 1000u}) {
      reports.clear();
      std::vector<const void*> left;
      {
        block_pool<> pool({.cell_bytes = cell_bytes});
        static_cast<void>(pool.allocate());
        pool.release();
        const std::vector<void*> cells = take(pool, 3 * leaked);
        for (std::size_t i = 0; i < cells.size(); ++i)
          if (i % 3 == 0) left.push_back(cells[i]);
          else pool.deallocate(cells[i]);
      }
      ASSERT_EQ(reports.size(), 1u);
      EXPECT_EQ(reports[0].count, leaked);
      EXPECT_EQ(reports[0].block_bytes, cell_bytes);
      EXPECT_EQ(reports[0].bytes, leaked * cell_bytes);
      std::ranges::sort(left, std::less<>());
      left.resize(std::min(left.size(), leaked_blocks::most_shown));
      EXPECT_EQ(reports[0].first, left);
    }
}

TEST_F(pool_leaks, of_a_set_are_told_by_class_and_none_after_a_release_or_by_pmr) {
  {
    ashlar::shared_pool_set<> ending;
    for (const std::size_t bytes : {24u, 24u, 1000u, 50'000u}) static_cast<void>(ending.allocate(bytes, 8));
  }
  std::size_t blocks = 0, bytes = 0;
  for (const told& each : reports) blocks += each.count, bytes += each.bytes;
  EXPECT_EQ(blocks, 4u);
  EXPECT_EQ(bytes, 24u + 24 + 1024 + 50'000);
  reports.clear();
  {
    ashlar::pool_set<> released;
    static_cast<void>(released.allocate(24, 8));
    released.release();
    ashlar::pmr::unsynchronized_pool_resource by_pmr;  // ends as the standard's
    static_cast<void>(by_pmr.allocate(24, 8));
  }
  EXPECT_TRUE(reports.empty());
}

// The default handler writes one line, and the program continues to its end. A process-wide pool is never destroyed.
TEST_F(pool_leaks, do_not_end_a_program_and_are_none_in_pools_of_the_process) {
  struct of_184_bytes {
    std::byte bytes[184];
  };
  const auto leak_and_go_on = [](bool of_process) {
    ashlar::set_leak_handler(nullptr);
    if (of_process) {
      static auto* const left = new std::list<of_184_bytes, ashlar::pool_allocator<of_184_bytes>>(3);
      std::exit(left->size() == 3 ? 17 : 1);
    }
    {
      block_pool<> pool({.cell_bytes = 24});
      for (int i = 0; i < 3; ++i) static_cast<void>(pool.allocate());
    }
    std::_Exit(17);
  };
  const std::string line =
      "ashlar: leak: blocks were live when their pool ended, resource 0x*, size 24, count 3, bytes 72, "
      "first 0x* 0x* 0x*";
  EXPECT_EXIT(leak_and_go_on(false), ::testing::ExitedWithCode(17),
              ::testing::Matcher<const std::string&>(ashlar_test::first_line_is(line)));
  EXPECT_EXIT(leak_and_go_on(true), ::testing::ExitedWithCode(17), "^$");
}

TEST_F(pool_leaks, end_a_program_that_asks_for_it) {
  ASHLAR_EXPECT_DEATH(
      {
        ashlar::set_leak_handler(leaked_blocks::abort);
        block_pool<> pool({.cell_bytes = 24});
        static_cast<void>(pool.allocate());
      },
      "ashlar: leak: blocks were live when their pool ended, resource 0x*, size 24, count 1, bytes 24, first 0x*");
}

// The write is the fault under test; a tool would report it first.
void flip(std::byte* at, std::size_t bytes = 1) {
  ashlar::detail::mark_readable(at, bytes);
  volatile std::byte* const to = at;
  for (std::size_t i = 0; i < bytes; ++i) to[i] = ~std::byte{to[i]};
}

// Calls `use` after a write of some bytes, which is undone.
fault kind_after(std::byte* at, std::size_t bytes, const auto& use) {
  flip(at, bytes);
  const fault kind = kind_of(use);
  flip(at, bytes);
  return kind;
}

TEST_F(pool_writes, are_found_by_each_sweep) {
  auto pool = std::make_unique<block_pool<>>(ashlar::block_pool_options{.cell_bytes = 64});
  auto* const live = static_cast<std::byte*>(pool->allocate());
  auto* const dead = static_cast<std::byte*>(pool->allocate());
  pool->deallocate(dead);
  const auto trim = [&] { static_cast<void>(pool->trim()); };
  const auto release = [&] { pool->release(); };
  EXPECT_EQ(kind_after(live + 64, 1, trim), fault::overflow);
  EXPECT_EQ(kind_after(live + 64, 1, release), fault::overflow);
  for (const std::size_t at : {0u, 31u, 63u}) {
    EXPECT_EQ(kind_after(dead + at, 1, trim), fault::corrupt_link);
    EXPECT_EQ(kind_after(dead + at, 1, release), fault::corrupt_link);
    ASHLAR_EXPECT_LAST_WORDS((flip(dead + at), pool->deallocate(live), pool.reset()),
                             "ashlar: corrupt_link: a free block was written to" + where + ", size 64");
  }
  pool->deallocate(live);
}

// The cell freed last is handed out last, as long as its slab has another one.
TEST_F(pool_writes, reports_name_the_pool) {
  block_pool<> pool({.cell_bytes = 64});
  auto* const p = static_cast<std::byte*>(pool.allocate());
  flip(p + 70);
  const auto seen = caught_in([&] { pool.deallocate(p); });
  flip(p + 70);
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->resource, &pool);
  pool.deallocate(p);
  const auto twice = caught_in([&] { pool.deallocate(p); });
  ASSERT_TRUE(twice.has_value());
  EXPECT_EQ(twice->resource, &pool);
}

TEST_F(pool_writes, are_watched_for_while_a_dead_block_rests) {
  block_pool<> pool({.cell_bytes = 64});
  std::vector<void*> cells = take(pool, pool.slab_bytes() / pool.cell_stride() / 2);
  while (pool.live() != pool.capacity()) cells.push_back(pool.allocate());  // the slab is full
  const std::size_t slabs = pool.slabs();
  std::vector<void*> dead(cells.end() - 40, cells.end());
  for (void* const each : dead) pool.deallocate(each);
  for (void* const expected : dead) ASSERT_EQ(pool.allocate(), expected);
  EXPECT_EQ(pool.slabs(), slabs) << "where nothing else is free, cells rest no longer";
  pool.release();
}

}  // namespace
