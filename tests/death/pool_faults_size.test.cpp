// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of frees with a wrong size, alignment or count, and of writes behind the requested bytes.
#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/death/caught.hpp"
#include "tests/death/last_words.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::block_pool;
using ashlar::fault;
using ashlar_test::caught_in;

constexpr bool is_hardened = ashlar::checking_level >= ashlar::checking::hardened;

const std::string larger = "ashlar: size_mismatch: freed a cell with the size of a larger block, "
                           "pointer 0x*, resource 0x*, block of 32 bytes, got ";
const std::string aligned = "ashlar: size_mismatch: freed a cell with an alignment that no cell has, "
                            "pointer 0x*, resource 0x*, block of 32 bytes, expected 16, got ";

// Writes hidden from sanitizers: only the canary detects them.
ASHLAR_TEST_UNSEEN void copy_unseen(volatile std::byte* to, const volatile std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
}

ASHLAR_TEST_UNSEEN void clear_unseen(void* at, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) static_cast<volatile std::byte*>(at)[i] = std::byte{0};
}

class pool_faults_size : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }
};

template <class Pool>
class cell_as_larger_block : public ::testing::Test {};

struct of_one_thread : ashlar::block_pool<> {
  of_one_thread() : block_pool<>({.cell_bytes = 32, .cell_alignment = 16}) {}
};
struct of_any_thread : ashlar::shared_block_pool<> {
  of_any_thread() : ashlar::shared_block_pool<>({.cell_bytes = 32, .cell_alignment = 16}) {}
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

TEST_F(pool_faults_size, a_larger_block_of_an_upstream_that_knows_what_it_owns) {
  alignas(4096) static std::array<std::byte, 16 * 1024> memory;
  ashlar::buffer_resource buffer(memory);
  block_pool<ashlar::resource_ref<ashlar::buffer_resource>> pool(
      {.cell_bytes = 32, .cell_alignment = 16, .slab_bytes = 4096}, buffer);
  void* const cell = pool.allocate();
  void* const block = pool.allocate(1000, 16);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(block, 32, 16),
                           "ashlar: size_mismatch: freed a larger block with the size of a cell, pointer 0x*, "
                           "resource 0x*, size 32");
  pool.deallocate(block, 1000, 16);
  pool.deallocate(cell);
}

struct alignas(8) of_328_bytes {
  std::byte bytes[328];
};

TEST_F(pool_faults_size, an_object_freed_with_another_count) {
  ashlar::pool_allocator<of_328_bytes> from;
  of_328_bytes* const one = from.allocate(1);
  for (const std::size_t n : {0u, 2u, 3u, 1000u}) {
    const std::string got = std::to_string(n * 328);
    ASHLAR_EXPECT_LAST_WORDS(from.deallocate(one, n),
                             "ashlar: size_mismatch: freed an object of a pool with another count than it was "
                             "allocated with, pointer 0x*, owner 0x*, block of 328 bytes, expected 328, got " +
                                 got);
  }
  of_328_bytes* const array = from.allocate(3);
  ASHLAR_EXPECT_LAST_WORDS(from.deallocate(array, 1),
                           "ashlar: invalid_free: freed a pointer that is not of this pool, pointer 0x*, "
                           "resource 0x*, size 328");
  from.deallocate(array, 3);
  from.deallocate(from.allocate(0), 0);
  from.deallocate(one, 1);
}

TEST_F(pool_faults_size, the_exact_size_is_known_where_there_is_slack) {
  if (!is_hardened) GTEST_SKIP() << "looked for at hardened";
  block_pool<> pool({.cell_bytes = 96});
  for (std::size_t bytes = 0; bytes < 96; ++bytes) {
    void* const cell = pool.allocate(bytes, 1);
    std::memset(cell, 0xEE, bytes);
    for (const std::size_t wrong : {bytes - 1, bytes + 1, bytes * 2}) {
      if (wrong >= 96 || wrong == bytes) continue;
      const auto seen = caught_in([&] { pool.deallocate(cell, wrong, 1); });
      ASSERT_TRUE(seen.has_value()) << bytes << ' ' << wrong;
      EXPECT_EQ(seen->kind, fault::size_mismatch);
      EXPECT_EQ(seen->expected, bytes);
      EXPECT_EQ(seen->got, wrong);
    }
    pool.deallocate(cell, bytes, 1);
  }
  void* const cell = pool.allocate(80, 8);
  ASHLAR_EXPECT_LAST_WORDS(pool.deallocate(cell, 79, 8),
                           "ashlar: size_mismatch: freed a cell with another size than it was allocated with, "
                           "pointer 0x*, resource 0x*, block of 96 bytes, expected 80, got 79");
  pool.deallocate(cell, 80, 8);
}

TEST_F(pool_faults_size, a_write_behind_the_request_is_an_overflow) {
  if (!is_hardened) GTEST_SKIP() << "looked for at hardened";
  block_pool<> pool({.cell_bytes = 4200});
  for (std::size_t bytes = 1; bytes <= 4096; ++bytes)
    for (const std::size_t by : {1u, 8u, 32u}) {
      auto* const cell = static_cast<std::byte*>(pool.allocate(bytes, 1));
      std::array<std::byte, 32> was;
      copy_unseen(was.data(), cell + bytes, by);
      clear_unseen(cell, bytes + by);
      const auto seen = caught_in([&] { pool.deallocate(cell, bytes, 1); });
      ASSERT_TRUE(seen.has_value()) << bytes;
      EXPECT_EQ(seen->kind, fault::overflow);
      EXPECT_EQ(seen->expected, bytes);
      EXPECT_EQ(seen->got, bytes + by);
      copy_unseen(cell + bytes, was.data(), by);
      pool.deallocate(cell, bytes, 1);
    }
}

}  // namespace
