// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of frees with a wrong size or alignment to pools for any thread: no cell ever reaches the upstream.
#include <array>
#include <cstddef>
#include <memory_resource>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pmr_pools.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

#include "tests/death/last_words.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::shared_block_pool;

struct alignas(16) of_32_bytes {
  std::byte bytes[32];
};

const std::string larger = "ashlar: size_mismatch: freed a cell with the size of a larger block, "
                           "pointer 0x*, resource 0x*, block of 32 bytes, got ";
const std::string aligned = "ashlar: size_mismatch: freed a cell with an alignment that no cell has, "
                            "pointer 0x*, resource 0x*, block of 32 bytes, expected 16, got ";

template <class Pool>
class cell_as_larger_block : public ::testing::Test {};

struct of_one_thread : ashlar::block_pool<> {
  of_one_thread() : block_pool<>({.cell_bytes = 32, .cell_alignment = 16}) {}
};
struct of_any_thread : shared_block_pool<> {
  of_any_thread() : shared_block_pool<>({.cell_bytes = 32, .cell_alignment = 16}) {}
};
using pools = ::testing::Types<of_one_thread, of_any_thread, ashlar::fixed_block_pool<32, 16>>;
TYPED_TEST_SUITE(cell_as_larger_block, pools);

// A cell at the start of a page would unmap the page, with other cells in it.
TYPED_TEST(cell_as_larger_block, never_reaches_the_upstream) {
  TypeParam pool;
  std::array<void*, 300> cells;
  for (void*& each : cells) each = pool.allocate();
  for (const std::size_t bytes : {33u, 64u, 4096u}) {
    ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(cells[0], bytes, 16), larger + std::to_string(bytes));
    ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(cells[299], bytes, 16), larger + std::to_string(bytes));
  }
  for (const std::size_t alignment : {32u, 4096u})
    ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(cells[0], 32, alignment), aligned + std::to_string(alignment));
  for (void* const each : cells) pool.deallocate(each, 32, 16);
  EXPECT_TRUE(pool.invariant());
}

TYPED_TEST(cell_as_larger_block, is_seen_beside_blocks_of_the_upstream) {
  TypeParam pool;
  void* const block = pool.allocate(5000, 16);
  void* const cell = pool.allocate(10, 2);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(cell, 5000, 16), larger + "5000");
  pool.deallocate(cell, 10, 2);
  pool.deallocate(block, 5000, 16);
}

TEST(shared_pool_faults, an_array_freed_where_one_object_was_allocated) {
  of_any_thread pool;
  ashlar::allocator<of_32_bytes, shared_block_pool<>> from(pool);
  of_32_bytes* const one = from.allocate(1);
  ASHLAR_EXPECT_LAST_WORDS(from.deallocate(one, 2), larger + "64");
  from.deallocate(one, 1);
}

TEST(shared_pool_faults, an_object_freed_by_pmr_with_another_size) {
  of_any_thread pool;
  ashlar::pmr_resource<ashlar::resource_ref<shared_block_pool<>>> bridge{
      ashlar::resource_ref<shared_block_pool<>>(pool)};
  std::pmr::memory_resource& by_pmr = bridge;
  void* const cell = by_pmr.allocate(32, 16);
  ASHLAR_EXPECT_LAST_WORDS(by_pmr.deallocate(cell, 33, 16), larger + "33");
  by_pmr.deallocate(cell, 32, 16);
}

class shared_pool_faults_checked : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }
};

TEST_F(shared_pool_faults_checked, an_alignment_that_is_none) {
  of_any_thread pool;
  void* const cell = pool.allocate(32, 16);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(cell, 32, 24), "ashlar: precondition: alignment is not a power of two");
  pool.deallocate(cell, 32, 16);
}

TEST_F(shared_pool_faults_checked, a_larger_block_freed_as_a_cell) {
  of_any_thread pool;
  void* const block = pool.allocate(1000, 16);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(block, 32, 16),
                           "ashlar: invalid_free: freed a pointer that is not of this pool, pointer 0x*, "
                           "resource 0x*, size 32");
  pool.deallocate(block, 1000, 16);
}

TEST_F(shared_pool_faults_checked, a_larger_block_of_an_upstream_that_knows_what_it_owns) {
  using upstream_type = ashlar::shared_pool_set<>;
  upstream_type upstream;
  shared_block_pool<ashlar::resource_ref<upstream_type>> pool({.cell_bytes = 32, .cell_alignment = 16}, upstream);
  void* const block = pool.allocate(50'000, 16);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(block, 32, 16),
                           "ashlar: size_mismatch: freed a larger block with the size of a cell, pointer 0x*, "
                           "resource 0x*, size 32");
  pool.deallocate(block, 50'000, 16);
}

TEST_F(shared_pool_faults_checked, the_second_free_comes_with_a_size_and_from_another_thread) {
  of_any_thread pool;
  void* const cell = pool.allocate(32, 16);
  pool.deallocate(cell, 32, 16);
  const std::string twice = "ashlar: double_free: freed a cell that is free, pointer 0x*, resource 0x*, size 32";
  ASHLAR_EXPECT_LAST_WORDS(std::thread([&] { pool.deallocate(cell, 32, 16); }).join(), twice);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(static_cast<std::byte*>(cell) + 8, 8, 8),
                           "ashlar: misaligned_free: freed a pointer into the middle of a cell, pointer 0x*, "
                           "resource 0x*, size 32");
}

TEST_F(shared_pool_faults_checked, a_cell_of_a_synchronized_pool_resource_by_another_size) {
  ashlar::pmr::synchronized_pool_resource by_pmr;
  void* const cell = by_pmr.allocate(100, 8);
  by_pmr.deallocate(by_pmr.allocate(24, 8), 24, 8);
  ASHLAR_EXPECT_LAST_WORDS(by_pmr.deallocate(cell, 24, 8),
                           "ashlar: wrong_pool: freed a cell of another pool, pointer 0x*, resource 0x*, owner 0x*, "
                           "size 104");
  ASHLAR_EXPECT_LAST_WORDS(
      by_pmr.deallocate(cell, 1000, 8),
      "ashlar: invalid_free: freed a block of a size that this pool set never allocated, pointer 0x*, "
      "resource 0x*, size 1000");
  ASHLAR_EXPECT_LAST_WORDS(by_pmr.deallocate(cell, 50'000, 8),
                           "ashlar: invalid_free: freed a large block that is not live in this pool set, pointer 0x*, "
                           "resource 0x*, size 50000");
  by_pmr.deallocate(cell, 100, 8);
}

}  // namespace
