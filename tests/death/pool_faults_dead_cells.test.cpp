// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes to free cells: from level checked on they hold no link, so that no write forges a pointer. Level hardened
// reports each: pool_faults_writes.test.cpp.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slab/cached_cells.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/block_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar_test::counting_resource;
using pool_type = ashlar::block_pool<ashlar::resource_ref<counting_resource<>>>;

static_assert(!ashlar_test::is_checked || ashlar::detail::cached_cells<>::limit(64) == 0,
              "no cell is linked through its bytes");

std::vector<void*> take(pool_type& pool, std::size_t cells) {
  std::vector<void*> taken(cells);
  for (void*& cell : taken) cell = pool.allocate();
  return taken;
}

void overwrite(void* dead, std::size_t at, std::byte value) {
  std::byte* const byte = static_cast<std::byte*>(dead) + at;
  ashlar::detail::mark_readable(byte, 1);  // the write is the fault under test; a tool would end the program first
  *byte = value;
}

// Allocated cells are whole cells of the pool, all different, and none of the live ones.
void expect_sound(pool_type& pool, std::vector<void*> live, std::size_t more) {
  const std::vector<void*> fresh = take(pool, more);
  live.insert(live.end(), fresh.begin(), fresh.end());
  std::ranges::sort(live, std::less<>());
  EXPECT_EQ(std::ranges::adjacent_find(live), live.end());
  EXPECT_TRUE(std::ranges::all_of(live, [&](void* cell) { return pool.owns(cell); }));
  EXPECT_EQ(pool.live(), live.size());
  for (void* const cell : live) {
    std::memset(cell, 0x77, pool.cell_bytes());
    pool.deallocate(cell);
  }
  EXPECT_TRUE(pool.invariant());
}

TEST(pool_faults_dead_cells, a_write_to_any_byte_of_a_dead_cell_changes_nothing) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "at fast a link lies in the first bytes of a dead cell";
  if (ashlar::detail::keeps_canaries) GTEST_SKIP() << "the write is reported";
  for (const std::size_t cell_bytes : {1u, 8u, 24u, 64u})
    for (std::size_t at = 0; at < cell_bytes; ++at)
      for (const std::byte value : {std::byte{0x00}, std::byte{0x01}, std::byte{0x41}, std::byte{0xFF}}) {
        counting_resource<> upstream;
        pool_type pool({.cell_bytes = cell_bytes, .slab_bytes = 4096}, upstream);
        std::vector<void*> cells = take(pool, 300);
        std::vector<void*> kept;
        for (std::size_t i = 0; i < cells.size(); ++i)
          if (i % 4 == 0) kept.push_back(cells[i]);
          else pool.deallocate(cells[i]);
        for (std::size_t i = 0; i < cells.size(); ++i)
          if (i % 4 != 0 && pool.owns(cells[i])) overwrite(cells[i], at, value);
        expect_sound(pool, kept, 400);
      }
}

}  // namespace
