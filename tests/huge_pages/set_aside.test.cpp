// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of huge pages on a machine that has set aside as many as a test wants.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/os/huge_pages.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/huge_page_resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/huge_pages/machine.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/huge_pages.hpp"

namespace {

using ashlar_test::machine;
constexpr std::size_t huge = machine::page_bytes;

/// Each test gives all pages back, and makes no call that Linux refuses for pages set aside.
class huge_pages_set_aside : public ::testing::Test {
protected:
  ~huge_pages_set_aside() override {
    EXPECT_EQ(machine::mistakes(), "");
    EXPECT_EQ(machine::pages_used(), 0u);
    machine::set_aside(0);
  }
};

struct enough_set_aside : ashlar_test::huge_page_conformance {
  enough_set_aside() { machine::set_aside(1000); }
  ~enough_set_aside() { EXPECT_EQ(machine::mistakes(), ""); }
  ashlar::huge_page_resource resource;
};

struct few_set_aside : enough_set_aside {
  few_set_aside() { machine::set_aside(5); }
};

const bool tested = ashlar_test::conforms<enough_set_aside, few_set_aside>("huge_pages_set_aside");

TEST_F(huge_pages_set_aside, come_whole_and_go_back) {
  machine::set_aside(3);
  auto* const p = static_cast<unsigned char*>(ashlar::detail::reserved_huge_pages::map(2 * huge));
  ASSERT_NE(p, nullptr);
  EXPECT_TRUE(ashlar::is_aligned(p, huge));
  EXPECT_TRUE(machine::has(p) && machine::has(p + 2 * huge - 1));
  EXPECT_EQ(machine::pages_left(), 1u);
  EXPECT_EQ(p[0] | p[2 * huge - 1], 0);
  EXPECT_TRUE(ashlar::os::pages::release(p, 2 * huge));
  EXPECT_EQ(machine::pages_left(), 3u);
}

TEST_F(huge_pages_set_aside, serve_a_block_where_enough_are_left) {
  machine::set_aside(2);
  ashlar::huge_page_resource pages;
  void* const p = pages.allocate(huge + 1, 64);
  EXPECT_TRUE(machine::has(p));
  EXPECT_EQ(machine::pages_left(), 0u);
  EXPECT_EQ(machine::wishes(), 0u) << "no transparent ones are asked for";
  pages.deallocate(p, huge + 1, 64);
  EXPECT_EQ(machine::pages_left(), 2u);
}

TEST_F(huge_pages_set_aside, too_few_are_replaced_by_others_without_a_trace) {
  for (const std::size_t left : {0u, 1u}) {
    machine::set_aside(left);
    ashlar::huge_page_resource pages;
    errno = 12345;
    auto* const p = static_cast<unsigned char*>(pages.allocate(2 * huge, 64));
    EXPECT_EQ(errno, 12345);
    EXPECT_FALSE(machine::has(p));
    EXPECT_EQ(machine::pages_left(), left);
    EXPECT_EQ(machine::wishes(), 1u) << "transparent ones";
    EXPECT_TRUE(ashlar::is_aligned(p, huge));
    EXPECT_TRUE(std::all_of(p, p + 2 * huge, [](unsigned char byte) { return byte == 0; }));
    std::memset(p, 1, 2 * huge);
    pages.deallocate(p, 2 * huge, 64);
  }
}

TEST_F(huge_pages_set_aside, may_run_out_while_an_arena_grows) {
  machine::set_aside(3);
  ashlar::arena<ashlar::huge_page_resource> memory;
  std::size_t inside = 0, beyond = 0;
  for (int i = 0; i < 150; ++i) {
    void* const p = memory.allocate(100'000, 64);
    std::memset(p, i, 100'000);
    ++(machine::has(p) ? inside : beyond);
  }
  EXPECT_GT(inside, 0u);
  EXPECT_GT(beyond, 0u);
}

TEST_F(huge_pages_set_aside, carry_pools_whose_slabs_go_back) {
  machine::set_aside(200);
  ashlar::block_pool<ashlar::huge_page_resource> pool({.cell_bytes = 40'000, .slab_bytes = 2 * huge});
  ashlar::shared_block_pool<ashlar::huge_page_resource> shared({.cell_bytes = 40'000, .slab_bytes = 2 * huge});
  std::vector<void*> cells(1000);
  for (void*& each : cells) std::memset(each = pool.allocate(), 1, 40'000);
  for (void* const each : cells) pool.deallocate(each);
  for (void*& each : cells) std::memset(each = shared.allocate(), 1, 40'000);
  EXPECT_GT(machine::pages_used(), 20u);
  for (void* const each : cells) shared.deallocate(each);
  static_cast<void>(pool.trim());
}

// A purge gives whole segments back, and nothing smaller: the system could not take it.
template <class Heap>
void churn_and_purge(Heap& heap) {
  std::vector<unsigned char*> blocks;
  for (int round = 0; round != 3; ++round) {
    for (std::size_t i = 0; i != 400; ++i) {
      const std::size_t bytes = 1 + i * i * 7 % 90'000;
      auto* const p = static_cast<unsigned char*>(heap.allocate_zeroed(bytes));
      ASSERT_TRUE(std::all_of(p, p + bytes, [](unsigned char byte) { return byte == 0; })) << bytes;
      std::memset(p, 255, bytes);
      blocks.push_back(p);
    }
    for (std::size_t i = 0; i < blocks.size(); i += 2) heap.deallocate(blocks[i]);
    static_cast<void>(heap.trim());
    for (std::size_t i = 1; i < blocks.size(); i += 2) heap.deallocate(blocks[i]);
    static_cast<void>(heap.trim());
    blocks.clear();
  }
  void* large = heap.allocate(3 * huge);
  large = heap.reallocate(large, 9 * huge);
  heap.deallocate(large);
}

TEST_F(huge_pages_set_aside, carry_heaps) {
  for (const std::size_t pages : {0u, 9u, 200u}) {
    machine::set_aside(pages);
    {
      ashlar::local_heap<ashlar::huge_page_resource> heap;
      churn_and_purge(heap);
    }
    {
      ashlar::heap<ashlar::huge_page_resource> heap;
      churn_and_purge(heap);
    }
    EXPECT_EQ(machine::pages_left(), pages);
  }
}

}  // namespace
