// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that level hardened detects every byte written outside of a live cell, in every resource with cells.
#include <array>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/block_pool.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::block_pool;
using ashlar::fault;
using ashlar_test::caught_in;

class pool_faults_writes : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "looked for at hardened, where no tool does";
  }
};

constexpr std::array<std::size_t, 12> sizes = {1, 7, 8, 17, 24, 40, 64, 100, 128, 500, 1000, 4096};

// The write is the fault under test; Valgrind would report it first.
void clear(void* at, std::size_t bytes) {
  ashlar::detail::mark_readable(at, bytes);
  for (std::size_t i = 0; i < bytes; ++i) static_cast<volatile std::byte*>(at)[i] = std::byte{0};
}

const std::string written = "^ashlar: corrupt_link: a free block was written to, ";

// `use` is called after a write to a byte of a block, and undone.
fault kind_after(std::byte* at, const auto& use) {
  const std::byte was = *at;
  clear(at, 1);
  const auto seen = caught_in(use);
  ashlar::detail::mark_readable(at, 1);
  *at = was;
  return seen ? seen->kind : fault::precondition;
}

// Of live and of dead cells between live ones; the matrix has these writes for 64 bytes in every resource.
TEST_F(pool_faults_writes, are_seen_for_cells_of_every_size) {
  for (const std::size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    block_pool<> pool({.cell_bytes = bytes});
    std::array<std::byte*, 3> cells{};
    for (std::byte*& each : cells) std::memset(each = static_cast<std::byte*>(pool.allocate()), 0x5A, bytes);
    for (std::byte* const each : {cells[0], cells[1]}) {
      EXPECT_EQ(kind_after(each + pool.cell_bytes(), [&] { pool.deallocate(each); }), fault::overflow);
      EXPECT_EQ(kind_after(each - 1, [&] { pool.deallocate(each); }), fault::underflow);
    }
    pool.deallocate(cells[1]);
    for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes - 1})
      EXPECT_EQ(kind_after(cells[1] + at, [&] { static_cast<void>(pool.trim()); }), fault::corrupt_link) << at;
    pool.release();
  }
}

TEST_F(pool_faults_writes, a_guard_that_is_swept) {
  block_pool<> pool({.cell_bytes = 64});
  auto* const cell = static_cast<std::byte*>(pool.allocate());
  const std::string overflow = "^ashlar: overflow: bytes past the end of a block were written to, ";
  EXPECT_EXIT((clear(cell + 64, 1), pool.trim()), ::testing::KilledBySignal(SIGABRT), overflow);
  EXPECT_EXIT((clear(cell + 64, 1), pool.release()), ::testing::KilledBySignal(SIGABRT), overflow);
  pool.deallocate(cell);
}

TEST_F(pool_faults_writes, a_dead_block_whose_pool_ends) {
  auto pool = std::make_unique<block_pool<>>(ashlar::block_pool_options{.cell_bytes = 64});
  void* const live = pool->allocate();
  auto* const dead = static_cast<std::byte*>(pool->allocate());
  pool->deallocate(dead);
  for (const std::size_t at : {0u, 31u, 63u}) {
    EXPECT_EXIT((clear(dead + at, 1), pool->deallocate(live), pool.reset()), ::testing::KilledBySignal(SIGABRT),
                written);
    EXPECT_EXIT((clear(dead + at, 1), pool->release()), ::testing::KilledBySignal(SIGABRT), written);
  }
  pool->deallocate(live);
}

TEST_F(pool_faults_writes, a_run_is_watched_around_its_cells) {
  for (const std::size_t cell_bytes : {1u, 24u, 64u, 1000u})
    for (const std::size_t length : {2u, 3u, 8u, 48u}) {
      SCOPED_TRACE(::testing::Message() << length << " cells of " << cell_bytes);
      block_pool<> pool({.cell_bytes = cell_bytes});
      void* const before = pool.allocate_run(length);
      auto* const run = static_cast<std::byte*>(pool.allocate_run(length));
      const std::size_t bytes = length * cell_bytes;
      std::memset(run, 0x5A, bytes);
      EXPECT_EXIT((clear(run + bytes, 1), pool.deallocate_run(run, length)), ::testing::KilledBySignal(SIGABRT),
                  "^ashlar: overflow: bytes past the end of a block were written to, ");
      EXPECT_EXIT((clear(run - 1, 1), pool.deallocate_run(run, length)), ::testing::KilledBySignal(SIGABRT),
                  "^ashlar: underflow: bytes before a block were written to, ");
      pool.deallocate_run(run, length);
      for (const std::size_t at : {std::size_t{0}, cell_bytes - 1, (length - 1) * pool.cell_stride()})
        EXPECT_EXIT((clear(run + at, 1), pool.trim()), ::testing::KilledBySignal(SIGABRT), written);
      pool.deallocate_run(before, length);
    }
}

// A report names the block, its pool and the extent of the writes.
TEST_F(pool_faults_writes, a_report_names_the_place) {
  block_pool<> pool({.cell_bytes = 64, .cell_alignment = 16});
  auto* const block = static_cast<std::byte*>(pool.allocate());
  const std::byte was = block[70];
  clear(block + 70, 1);
  const std::optional<ashlar::violation> seen = caught_in([&] { pool.deallocate(block); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::overflow);
  EXPECT_EQ(seen->pointer, block);
  EXPECT_EQ(seen->resource, &pool);
  EXPECT_EQ(seen->size, 64u);
  EXPECT_EQ(seen->expected, 64u);
  EXPECT_EQ(seen->got, 71u);
  ashlar::detail::mark_readable(block + 70, 1);
  block[70] = was;
  pool.deallocate(block);
}

// The cell freed last is handed out last, as long as its slab has another one.
TEST_F(pool_faults_writes, a_dead_block_rests) {
  block_pool<> pool({.cell_bytes = 64});
  std::vector<void*> cells(pool.slab_bytes() / pool.cell_stride() / 2);
  for (void*& each : cells) each = pool.allocate();
  while (pool.live() != pool.capacity()) cells.push_back(pool.allocate());  // the slab is full
  std::vector<void*> dead;
  for (std::size_t i = 0; i < 40; ++i) {
    dead.push_back(cells.back());
    pool.deallocate(cells.back());
    cells.pop_back();
  }
  for (void* const expected : dead) ASSERT_EQ(pool.allocate(), expected);
  EXPECT_EQ(pool.slabs(), 1u) << "where nothing else is free, cells rest no longer";
  pool.release();
}

}  // namespace
