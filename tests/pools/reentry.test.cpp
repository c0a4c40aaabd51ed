// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of pools whose upstream uses them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/adaptor/limiting.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

// Calls what it is told to, once, before a block comes or goes.
struct meddling {
  std::function<void(std::size_t bytes)> before_allocate;
  std::function<void(std::size_t bytes)> before_deallocate;
  ashlar_test::counting_resource<> below;

  void* allocate(std::size_t bytes, std::size_t alignment) {
    if (before_allocate) before_allocate(bytes);
    return below.allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if (before_deallocate) before_deallocate(bytes);
    below.deallocate(p, bytes, alignment);
  }
  bool operator==(const meddling& other) const { return this == &other; }
};

using pool_type = ashlar::block_pool<ashlar::resource_ref<meddling>>;

template <std::size_t Count>
std::array<void*, Count> take(pool_type& pool) {
  std::array<void*, Count> cells;
  for (void*& each : cells) each = pool.allocate();
  return cells;
}

TEST(pool_reentry, a_trim_loses_no_cell) {
  meddling upstream;
  pool_type pool({.cell_bytes = 64, .retain_slabs = ashlar::retain_policy::none()}, upstream);
  std::array<void*, 64> cells = take<64>(pool);
  void* last = nullptr;
  std::size_t more = 0;
  for (; pool.slabs() < 3; ++more) last = pool.allocate();
  pool.deallocate(last);
  const std::size_t live = pool.live();
  bool is_inside = false;
  upstream.before_deallocate = [&](std::size_t) {
    if (!std::exchange(is_inside, true)) pool.deallocate(pool.allocate());
  };
  static_cast<void>(pool.trim());
  EXPECT_EQ(pool.live(), live);
  EXPECT_EQ(live, cells.size() + more - 1);
  EXPECT_TRUE(pool.invariant());
  upstream.before_deallocate = {};
  pool.release();
}

TEST(pool_reentry, cells_are_taken_while_the_addresses_of_cached_cells_go) {
  meddling upstream;
  pool_type pool({.cell_bytes = 64}, upstream);
  for (void* const each : take<200>(pool)) pool.deallocate(each);
  void* kept = nullptr;
  upstream.before_deallocate = [&](std::size_t bytes) {
    if (bytes != 1024 * sizeof(void*) || kept != nullptr) return;
    kept = pool.allocate();
    pool.deallocate(pool.allocate());
  };
  static_cast<void>(pool.trim());
  upstream.before_deallocate = {};
  EXPECT_EQ(pool.live(), kept != nullptr ? 1u : 0u);
  EXPECT_TRUE(pool.invariant());
  pool.release();
}

TEST(pool_reentry, a_run_is_taken_while_the_slab_gets_memory_for_marks) {
  meddling upstream;
  {
    pool_type pool({.cell_bytes = 64}, upstream);
    void* inner = nullptr;
    bool is_inside = false;
    upstream.before_allocate = [&](std::size_t bytes) {
      if (bytes != sizeof(std::uint64_t) || std::exchange(is_inside, true)) return;
      inner = pool.allocate_run(3);
    };
    void* const outer = pool.allocate_run(3);
    upstream.before_allocate = {};
    if (inner != nullptr) pool.deallocate_run(inner, 3);
    pool.deallocate_run(outer, 3);
  }
  EXPECT_EQ(upstream.below.balance(), ashlar_test::nothing);
}

TEST(pool_trim, returns_nothing_where_it_finds_room_for_what_was_refused) {
  using limited = ashlar::limiting<ashlar::new_delete_resource>;
  ashlar::budget budget(300 * 1024);
  limited upstream(budget);
  ashlar::block_pool<ashlar::resource_ref<limited>> pool({.cell_bytes = 64}, upstream);
  constexpr std::size_t other_bytes = 300 * 1024 - 262'144 - 4096;
  void* const other = upstream.allocate(other_bytes, 16);
  std::array<void*, 30> cells;
  for (void*& each : cells) each = pool.allocate();
  upstream.deallocate(other, other_bytes, 16);
  EXPECT_EQ(pool.trim(), 0u);
  for (void* const each : cells) pool.deallocate(each);
}

}  // namespace
