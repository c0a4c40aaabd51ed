// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool beside a trivial oracle: the set of live cells and their contents.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/live_blocks.hpp"

namespace ashlar_test {

/// A pool as a resource that uses each of the pool's own functions in turn. A cell allocated without a size is freed
/// with a size only if that is the cell's own.
template <class Pool>
class every_road {
public:
  explicit every_road(Pool& pool) : pool_(pool) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    return turn_++ % 2 == 0 && bytes == pool_.cell_bytes() ? pool_.allocate() : pool_.allocate(bytes, alignment);
  }
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return turn_++ % 2 == 0 && bytes == pool_.cell_bytes() ? pool_.try_allocate()
                                                           : pool_.try_allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    turn_++ % 2 == 0 ? pool_.deallocate(p) : pool_.deallocate(p, bytes, alignment);
  }
  friend bool operator==(const every_road& a, const every_road& b) noexcept { return &a == &b; }

private:
  Pool& pool_;
  unsigned turn_ = 0;
};

/// Checks after every operation that cells do not overlap and keep their contents, and in `check()` everything else.
template <class Pool>
class pool_model {
public:
  enum class order { last_first, first_first, random };

  pool_model(Pool& pool, std::size_t cell_bytes, std::size_t cell_alignment, unsigned seed)
      : pool_(pool), cell_bytes_(cell_bytes), cell_alignment_(cell_alignment), random_(seed), roads_(pool),
        blocks_(roads_) {}

  [[nodiscard]] bool allocate_one() { return blocks_.try_allocate(cell_bytes_, cell_alignment_); }

  void grow_to(std::size_t cells) {
    while (blocks_.size() < cells) {
      ASSERT_TRUE(allocate_one());
      if (below(8) == 0) free_one(order::random);
    }
  }

  void shrink_to(std::size_t cells, order by) {
    while (blocks_.size() > cells) free_one(by);
  }

  void churn(std::size_t steps) {
    for (; steps != 0; --steps) {
      if (blocks_.size() == 0 || below(2) == 0) ASSERT_TRUE(allocate_one());
      else free_one(order::random);
    }
  }

  void check() const {
    EXPECT_TRUE(pool_.invariant());
    EXPECT_EQ(pool_.live(), blocks_.size());
    EXPECT_GE(pool_.capacity(), pool_.live());
    EXPECT_TRUE(blocks_.all_intact());
  }

  /// Effects: also enumerates the pool's live cells, which flushes its cached cells.
  void check_each_live() {
    std::vector<void*> expected(blocks_.size());
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = blocks_[i].data;
    std::ranges::sort(expected, std::less<>());
    std::vector<void*> visited;
    pool_.for_each_live([&](void* cell) { visited.push_back(cell); });
    EXPECT_EQ(visited, expected);
    EXPECT_TRUE(std::ranges::all_of(expected, [&](void* cell) { return pool_.owns(cell); }));
    check();
  }

  /// Effects: fills to `most` cells, churns, frees in bulk, allocates again; in every order of freeing.
  void run(std::size_t most) {
    for (const order by : {order::random, order::last_first, order::first_first}) {
      grow_to(most);
      check();
      churn(most / 4);
      check_each_live();
      grow_to(most);
      shrink_to(most / 16, by);  // in bulk: the cached cells overflow
      check();
      churn(most / 8);
      check();
      static_cast<void>(pool_.trim());
      check_each_live();
    }
    shrink_to(0, order::random);
    check();
  }

  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  void free_one(order by) {
    blocks_.free(by == order::last_first ? blocks_.size() - 1 : by == order::first_first ? 0 : below(blocks_.size()));
  }

private:
  [[nodiscard]] std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

  Pool& pool_;
  std::size_t cell_bytes_;
  std::size_t cell_alignment_;
  std::mt19937 random_;
  every_road<Pool> roads_;
  live_blocks<every_road<Pool>> blocks_;
};

/// Returns: a number of cells of one size that overflows the cached cells several times, in a short run.
[[nodiscard]] inline std::size_t model_cells(std::size_t cell_bytes) {
  constexpr std::size_t bytes = cases_of_build(128, 256) * 1024;
  return std::clamp(bytes / cell_bytes, std::size_t{150}, cases_of_build(std::size_t{4500}, std::size_t{9000}));
}

}  // namespace ashlar_test
