// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the blocks that a profile notes.
#include <array>
#include <cstddef>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/profiling/profilers.hpp>

#include "tests/support/stress.hpp"

namespace {

struct entry {
  const void* block = nullptr;
  std::size_t number = 0;
};
using table_type = ashlar::detail::address_table<entry>;

constinit table_type made_before_main;

std::vector<std::byte> memory(1 << 16);

TEST(address_table, removes_what_a_predicate_names) {
  table_type table;
  for (std::size_t at = 0; at < memory.size(); ++at) {
    ASSERT_TRUE(table.make_room());
    table.put({&memory[at], at});
  }
  table.remove_if([](const entry& each) { return each.number % 3 != 0; });
  EXPECT_EQ(table.size(), (memory.size() + 2) / 3);
  EXPECT_TRUE(table.invariant());
  for (std::size_t at = 0; at < memory.size(); ++at) ASSERT_EQ(table.find(&memory[at]).block != nullptr, at % 3 == 0);
}

TEST(address_table, takes_every_question_while_it_has_no_pages) {
  table_type& table = made_before_main;
  EXPECT_EQ(table.find(memory.data()).block, nullptr);
  EXPECT_EQ(table.remove(memory.data()).block, nullptr);
  table.remove_if([](const entry&) { return true; });
  EXPECT_TRUE(table.invariant());
}

using ashlar::detail::profiled_blocks;

std::set<const void*> ended(profiled_blocks& book, const void* pool) {
  std::set<const void*> blocks;
  book.end(pool, [&](const void* block) { EXPECT_TRUE(blocks.insert(block).second); });
  return blocks;
}

TEST(profiled_blocks, a_block_whose_end_was_not_seen_is_noted_once) {
  profiled_blocks book;
  const std::array<int, 2> pools = {};
  EXPECT_FALSE(book.note(memory.data(), &pools[0]));
  for (int again = 0; again < 10'000; ++again) ASSERT_TRUE(book.note(memory.data(), &pools[1]));
  EXPECT_EQ(book.size(), 1);
  EXPECT_TRUE(book.invariant());
  EXPECT_TRUE(ended(book, &pools[0]).empty());
  EXPECT_EQ(ended(book, &pools[1]).size(), 1);
}

TEST(profiled_blocks, threads_note_their_own) {
  profiled_blocks book;
  ashlar_test::on_threads(4, [&book](std::size_t thread) {
    const std::byte* const mine = &memory[thread * 1000];
    for (std::size_t i = 0; i < 1000; ++i) book.note(mine + i, mine);
    for (std::size_t i = 0; i < 1000; i += 2) book.forget(mine + i);
  });
  EXPECT_EQ(book.size(), 2000);
  for (std::size_t thread = 0; thread < 4; ++thread) EXPECT_EQ(ended(book, &memory[thread * 1000]).size(), 500);
  EXPECT_TRUE(book.size() == 0 && book.invariant());
}

}  // namespace
