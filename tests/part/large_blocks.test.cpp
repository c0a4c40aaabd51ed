// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the list of large blocks: where its notes lie, what it finds, and that it forgets in any order.
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/part/large_blocks.hpp>

namespace {

using ashlar::large_block;
using ashlar::large_blocks;

TEST(large_blocks, asks_for_the_block_and_its_note) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{40'001}}) {
    const auto whole = large_blocks::extent_of(bytes, 1);
    EXPECT_GE(whole.bytes, bytes + sizeof(large_block));
    EXPECT_LT(whole.bytes, bytes + sizeof(large_block) + alignof(large_block));
    EXPECT_EQ(whole.alignment, alignof(large_block));
    EXPECT_EQ(large_blocks::extent_of(bytes, 4096).alignment, 4096u);
  }
}

struct held_block {
  std::unique_ptr<std::byte[]> memory;
  std::size_t bytes;
};

TEST(large_blocks, knows_its_blocks_and_forgets_them_in_any_order) {
  large_blocks list;
  std::vector<held_block> held;
  for (std::size_t i = 0; i < 20; ++i) {
    const std::size_t bytes = 100 + i * 7;
    held.push_back({std::make_unique<std::byte[]>(large_blocks::extent_of(bytes, 8).bytes), bytes});
    ASSERT_EQ(list.add(held[i].memory.get(), bytes, 8), held[i].memory.get());
    std::memset(held[i].memory.get(), 0xff, bytes);  // all of it is the caller's
  }
  EXPECT_EQ(list.count(), 20u);
  EXPECT_EQ(list.find(held[3].memory.get() + held[3].bytes - 1)->start, held[3].memory.get());
  EXPECT_EQ(list.find(held[3].memory.get() + held[3].bytes), nullptr);
  list.check(held[3].memory.get(), held[3].bytes, 8, &list);
  for (const std::size_t i : {7u, 0u, 19u}) list.remove(held[i].memory.get(), held[i].bytes);
  EXPECT_EQ(list.find(held[7].memory.get()), nullptr);
  EXPECT_TRUE(list.invariant());
  std::size_t left = 0;
  for (large_block first = list.remove_first(); first.start != nullptr; first = list.remove_first()) ++left;
  EXPECT_EQ(left, 17u);
  EXPECT_EQ(list.bytes(), 0u);
  EXPECT_TRUE(list.invariant());
}

TEST(large_blocks, knows_a_block_of_no_bytes_by_its_address) {
  large_blocks list;
  alignas(large_block) std::byte memory[large_blocks::extent_of(0, 1).bytes];
  void* const p = list.add(memory, 0, 1);
  ASSERT_NE(list.find(p), nullptr);
  EXPECT_EQ(list.find(p)->start, p);
  EXPECT_EQ(list.find(memory + 1), nullptr);
  list.remove(p, 0);
  EXPECT_EQ(list.find(p), nullptr);
}

}  // namespace
