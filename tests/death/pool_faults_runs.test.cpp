// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of frees of runs and of many cells: twice, of foreign memory, into their middle, by another length.
#include <array>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/free_check.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>

#include "tests/death/caught.hpp"
#include "tests/death/last_words.hpp"
#include "tests/death/pool_apis.hpp"
#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::block_pool;
using ashlar::fault;
using ashlar_test::caught_in;
using ashlar_test::counting_resource;
using ashlar_test::sentence_48;

const std::string double_free = sentence_48("double_free: freed a cell that is free");
const std::string invalid_free = sentence_48("invalid_free: freed a pointer that is not of this pool");
const std::string into_a_cell = sentence_48("misaligned_free: freed a pointer into the middle of a cell");
const std::string into_a_run = sentence_48("misaligned_free: freed a pointer into the middle of a run");

std::string other_length(std::size_t expected, std::size_t got) {
  return "ashlar: size_mismatch: freed a run with another length than it was allocated with, pointer 0x*, "
         "resource 0x*, block of 48 bytes, expected " +
         std::to_string(expected) + ", got " + std::to_string(got);
}

class pool_faults_runs : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }
  void TearDown() override { pool.release(); }

  [[nodiscard]] std::byte* run_of(std::size_t n) { return static_cast<std::byte*>(pool.allocate_run(n)); }

  block_pool<> pool{{.cell_bytes = 48, .cell_alignment = 16}};
  std::byte* const pin = static_cast<std::byte*>(pool.allocate());  // keeps the first slab
};

TEST_F(pool_faults_runs, a_pointer_into_a_run) {
  std::byte* const run = run_of(8);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate_run(run + 16, 8), into_a_cell);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate_run(run + 3 * pool.cell_stride(), 8), into_a_run);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate_run(run + 7 * pool.cell_stride(), 1), into_a_run);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(run + pool.cell_stride()), into_a_run);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(run + pool.cell_stride(), 48, 16), into_a_run);
}

TEST_F(pool_faults_runs, another_length) {
  std::byte* const run = run_of(8);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate_run(run, 1), other_length(8, 1));
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(run), other_length(8, 1));
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(run, 48, 16), other_length(8, 1));
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate_run(run, 6), other_length(8, 6));
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate_run(run, 9), other_length(8, 12));
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate_run(run, 100), other_length(8, 100));
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate_run(run, ashlar::detail::max_size),
                           other_length(8, ashlar::detail::max_size));
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate_run(pin, 2), other_length(1, 2));
}

// Every length against every other; a length of the same class is right.
TEST_F(pool_faults_runs, every_length_freed_by_every_other) {
  for (std::size_t length = 1; length <= ashlar::detail::longest_run; ++length) {
    std::byte* const run = run_of(length);
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
}

TEST_F(pool_faults_runs, a_run_of_the_upstream_freed_as_one_of_cells) {
  void* const run = pool.allocate_run(100);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate_run(run, 64), invalid_free);
  pool.deallocate_run(run, 100);
  static std::array<std::byte, 64 * 1024> memory;
  ashlar::buffer_resource buffer(memory);
  block_pool<ashlar::resource_ref<ashlar::buffer_resource>> bounded({.cell_bytes = 48, .slab_bytes = 8192}, buffer);
  void* const other = bounded.allocate_run(100);
  ASHLAR_EXPECT_LAST_WORDS(bounded.deallocate_run(other, 4),
                           "ashlar: size_mismatch: freed a larger block with the size of a cell, pointer 0x*, "
                           "resource 0x*, size 192");
  bounded.deallocate_run(other, 100);
}

// The marks come from the upstream. Without them a length is unknown, but a free cell is still detected.
TEST_F(pool_faults_runs, are_looked_for_as_far_as_can_be_without_memory) {
  counting_resource<> upstream;
  block_pool<ashlar::resource_ref<counting_resource<>>> starved({.cell_bytes = 48, .slab_bytes = 8192}, upstream);
  upstream.fail_at(1);  // the first is the slab
  void* const run = starved.allocate_run(8);
  void* const next = starved.allocate_run(8);
  EXPECT_FALSE(caught_in([&] { starved.deallocate_run(run, 8); }).has_value());
  ASHLAR_EXPECT_LAST_WORDS(starved.deallocate_run(run, 8), double_free);
  EXPECT_FALSE(caught_in([&] { starved.deallocate_run(next, 8); }).has_value());
  void* const again = starved.allocate_run(4);
  ASHLAR_EXPECT_LAST_WORDS(
      (starved.deallocate(static_cast<std::byte*>(again) + starved.cell_stride()), starved.deallocate_run(again, 4)),
      sentence_48("double_free: freed a run with a cell that is free"));
  starved.deallocate_run(again, 4);
}

// A slab may have room for the cells of a run, but not for its rounded length: then the run comes from the upstream.
TEST_F(pool_faults_runs, that_nearly_fit_a_slab_come_from_the_upstream_and_go_there) {
  for (const std::size_t cell_bytes : {1u, 7u, 24u, 59u})
    for (std::size_t slab_bytes = 1024; slab_bytes <= 8192; slab_bytes *= 2) {
      block_pool<> pool({.cell_bytes = cell_bytes, .slab_bytes = slab_bytes});
      for (std::size_t n = 0; n <= 130; ++n) pool.deallocate_run(pool.allocate_run(n), n);
      EXPECT_EQ(pool.live(), 0u) << cell_bytes << ' ' << slab_bytes;
    }
}

TEST_F(pool_faults_runs, many_with_one_that_is_wrong) {
  std::array<void*, 100> cells;
  pool.allocate_many(cells);
  const auto many_with = [&](std::size_t at, void* wrong) {
    std::array<void*, 100> others = cells;
    others[at] = wrong;
    pool.deallocate_many(others);
  };
  block_pool<> other({.cell_bytes = 48, .cell_alignment = 16});
  void* const of_another = other.allocate();
  std::byte* const run = run_of(4);
  ASHLAR_EXPECT_LAST_WORDS(many_with(99, cells[3]), double_free);
  ASHLAR_EXPECT_LAST_WORDS(many_with(50, cells[49]), double_free);
  ASHLAR_EXPECT_LAST_WORDS(many_with(50, &other), invalid_free);
  ASHLAR_EXPECT_LAST_WORDS(many_with(0, static_cast<std::byte*>(cells[0]) + 8), into_a_cell);
  ASHLAR_EXPECT_LAST_WORDS(many_with(7, run), other_length(4, 1));
  ASHLAR_EXPECT_LAST_WORDS(many_with(7, run + pool.cell_stride()), into_a_run);
  ASHLAR_EXPECT_LAST_WORDS(many_with(99, of_another),
                           "ashlar: wrong_pool: freed a cell of another pool, pointer 0x*, resource 0x*, owner 0x*, "
                           "size 48");
  ASHLAR_EXPECT_LAST_WORDS((pool.deallocate_many(cells), pool.deallocate_many(cells)), double_free);
  pool.deallocate_many(cells);
  other.deallocate(of_another);
}

}  // namespace
