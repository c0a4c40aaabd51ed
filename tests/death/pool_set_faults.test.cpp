// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of misuse of the pools for all sizes: double frees, wrong sizes, other sets, large blocks, leaks.
#include <cstddef>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/face/pmr_pools.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

#include "tests/death/last_words.hpp"
#include "tests/support/build.hpp"

namespace {

template <class Set>
class pool_set_faults : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }
  Set pools;
};

using sets = ::testing::Types<ashlar::pool_set<>, ashlar::shared_pool_set<>>;
TYPED_TEST_SUITE(pool_set_faults, sets);

const std::string where = ", pointer 0x*, resource 0x*";

TYPED_TEST(pool_set_faults, a_cell_freed_by_a_size_of_another_class) {
  void* const cell = this->pools.allocate(100, 8);
  this->pools.deallocate(this->pools.allocate(24, 8), 24, 8);
  ASHLAR_EXPECT_LAST_WORDS(this->pools.deallocate(cell, 24, 8),
                           "ashlar: wrong_pool: freed a cell of another pool" + where + ", owner 0x*, size 104");
  this->pools.deallocate(cell, 100, 8);
}

TYPED_TEST(pool_set_faults, a_large_block_freed_by_another_size_twice_or_never_allocated) {
  void* const block = this->pools.allocate(50'000, 8);
  int not_a_block = 0;
  ASHLAR_EXPECT_LAST_WORDS(this->pools.deallocate(block, 50'001, 8),
                           "ashlar: size_mismatch: freed a large block with another size or alignment than it was "
                           "allocated with" +
                               where + ", expected 50000, got 50001");
  ASHLAR_EXPECT_LAST_WORDS(this->pools.deallocate(&not_a_block, 50'000, 8),
                           "ashlar: invalid_free: freed a large block that is not live in this pool set" + where +
                               ", size 50000");
  this->pools.deallocate(block, 50'000, 8);
  ASHLAR_EXPECT_LAST_WORDS(this->pools.deallocate(block, 50'000, 8),
                           "ashlar: invalid_free: freed a large block that is not live in this pool set" + where +
                               ", size 50000");
}

TYPED_TEST(pool_set_faults, a_block_of_a_class_that_was_never_used) {
  int not_a_block = 0;
  ASHLAR_EXPECT_LAST_WORDS(this->pools.deallocate(&not_a_block, 24, 8),
                           "ashlar: invalid_free: freed a block of a size that this pool set never allocated" + where +
                               ", size 24");
}

std::size_t leaked_blocks = 0;
std::size_t leaked_bytes = 0;

TYPED_TEST(pool_set_faults, what_is_live_at_the_end_is_a_leak_unless_it_was_released) {
  leaked_blocks = leaked_bytes = 0;
  const auto before = ashlar::set_leak_handler([](const ashlar::leaked_blocks& leak) noexcept {
    leaked_blocks += leak.count;
    leaked_bytes += leak.bytes;
  });
  {
    TypeParam ending;
    for (const std::size_t bytes : {24u, 24u, 1000u, 50'000u}) static_cast<void>(ending.allocate(bytes, 8));
  }
  EXPECT_EQ(leaked_blocks, 4u);
  EXPECT_EQ(leaked_bytes, 24u + 24 + 1024 + 50'000);
  {
    TypeParam released;
    static_cast<void>(released.allocate(24, 8));
    released.release();
    ashlar::pmr::unsynchronized_pool_resource by_pmr;  // ends as the standard's
    static_cast<void>(by_pmr.allocate(24, 8));
  }
  EXPECT_EQ(leaked_blocks, 4u);
  ashlar::set_leak_handler(before);
}

// At every level: a list links the headers behind large blocks.
template <class Set>
class large_block_faults : public ::testing::Test {
protected:
  void SetUp() override {
    if (ashlar_test::has_asan) GTEST_SKIP() << "sees the write itself";
  }
  Set pools;
};

using sets_with_large_blocks =
    ::testing::Types<ashlar::pool_set<>, ashlar::shared_pool_set<>, ashlar::pmr::unsynchronized_pool_resource,
                     ashlar::pmr::synchronized_pool_resource>;
TYPED_TEST_SUITE(large_block_faults, sets_with_large_blocks);

constexpr std::size_t large = 40'000;  // bytes; whole words, so that nothing is rounded

// As bytes, and with a count hidden from the compiler.
[[nodiscard]] unsigned char* bytes_of(void* p) {
  void* volatile hidden = p;
  return static_cast<unsigned char*>(hidden);
}

TYPED_TEST(large_block_faults, one_byte_behind_is_found_when_the_block_goes) {
  unsigned char* const p = bytes_of(this->pools.allocate(large, 8));
  p[large] ^= 0x40;
  const std::string what =
      ashlar_test::is_checked
          ? "ashlar: overflow: bytes past the end of a block were written to" + where + ", expected 40000, got 40001"
          : "ashlar: overflow: bytes past the end of a large block were written to, over its record" + where;
  ASHLAR_EXPECT_LAST_WORDS(this->pools.deallocate(p, large, 8), what);
  if (ashlar_test::is_checked) ASHLAR_EXPECT_LAST_WORDS(this->pools.release(), what);
  else
    ASHLAR_EXPECT_LAST_WORDS(this->pools.release(), "ashlar: overflow: bytes past the end of a large block were "
                                                    "written to, over its record, which is at this pointer" +
                                                        where);
  p[large] ^= 0x40;
  this->pools.deallocate(p, large, 8);
}

TYPED_TEST(large_block_faults, an_innocent_free_meets_a_note_that_is_not_one_and_unlinks_nothing) {
  unsigned char* const first = bytes_of(this->pools.allocate(large, 8));
  void* const second = this->pools.allocate(large, 8);
  unsigned char were[64];
  std::memcpy(were, first + large, sizeof were);
  std::memset(first + large, 0x41, sizeof were);  // links of an attacker's choice
  ASHLAR_EXPECT_LAST_WORDS(this->pools.deallocate(second, large, 8),
                           "ashlar: overflow: bytes past the end of a large block were written to, over its record, "
                           "which is at this pointer" +
                               where);
  std::memcpy(first + large, were, sizeof were);
  this->pools.deallocate(second, large, 8);
  this->pools.deallocate(first, large, 8);
}

}  // namespace
