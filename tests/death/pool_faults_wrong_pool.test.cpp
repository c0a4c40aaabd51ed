// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of cells freed to another pool of their kind: reported as that, with the owner, as long as it lives.
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/block_pool.hpp>

#include "tests/death/last_words.hpp"
#include "tests/death/pool_apis.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::block_pool;
using ashlar_test::api_pool;

const std::string wrong_pool =
    "ashlar: wrong_pool: freed a cell of another pool, pointer 0x*, resource 0x*, owner 0x*, size 48";

class pool_faults_wrong_pool : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }
};

TEST_F(pool_faults_wrong_pool, a_pool_that_has_ended_owns_nothing) {
  api_pool mine({.cell_bytes = 48, .cell_alignment = 16});
  std::optional<api_pool> yours(std::in_place, ashlar::block_pool_options{.cell_bytes = 48, .cell_alignment = 16});
  void* const cell = yours->allocate();
  ASHLAR_EXPECT_LAST_WORDS(mine.deallocate(cell), wrong_pool);
  yours->release();
  EXPECT_EQ(ashlar::detail::process_slabs.find(cell).owner, nullptr);
  yours.reset();
  ASHLAR_EXPECT_LAST_WORDS(mine.deallocate(cell),
                           ashlar_test::sentence_48("invalid_free: freed a pointer that is not of this pool"));
}

TEST_F(pool_faults_wrong_pool, an_old_copy_of_an_allocator_after_its_container_was_moved_to) {
  using allocator = ashlar::allocator<ashlar_test::api_cell, api_pool>;
  api_pool a({.cell_bytes = 96, .cell_alignment = 16});
  api_pool b({.cell_bytes = 96, .cell_alignment = 16});
  std::vector<ashlar_test::api_cell, allocator> from(1, allocator(a));
  std::vector<ashlar_test::api_cell, allocator> to(1, allocator(b));
  allocator old = to.get_allocator();
  to = std::move(from);  // takes the cell and its allocator along
  EXPECT_TRUE(to.get_allocator() == allocator(a));
  ASHLAR_EXPECT_LAST_WORDS(old.deallocate(to.data(), 1),
                           "ashlar: wrong_pool: freed a cell of another pool, pointer 0x*, resource 0x*, owner 0x*, "
                           "size 96");
}

TEST_F(pool_faults_wrong_pool, the_pools_of_two_locks) {
  struct alignas(16) own_size {
    std::byte bytes[48 * 9];
  };
  ashlar::pool_allocator<own_size> alone;
  ashlar::pool_allocator<own_size, ashlar::spin_lock> shared;
  own_size* const p = alone.allocate(1);
  ASHLAR_EXPECT_LAST_WORDS(shared.deallocate(p, 1),
                           "ashlar: wrong_pool: freed a cell of another pool, pointer 0x*, resource 0x*, owner 0x*, "
                           "size 432");
  alone.deallocate(p, 1);
}

TEST_F(pool_faults_wrong_pool, a_slab_leaves_the_registry_when_it_is_given_back) {
  block_pool<> pool({.cell_bytes = 48, .slab_bytes = 4096, .retain_slabs = 0});
  std::vector<void*> cells(1000);
  for (void*& cell : cells) cell = pool.allocate();
  for (void* const cell : cells) EXPECT_EQ(ashlar::detail::process_slabs.find(cell).owner, &pool);
  for (void* const cell : cells) pool.deallocate(cell);
  static_cast<void>(pool.trim());
  for (void* const cell : cells) EXPECT_EQ(ashlar::detail::process_slabs.find(cell).owner, nullptr);
  EXPECT_TRUE(ashlar::detail::process_slabs.invariant());
}

}  // namespace
