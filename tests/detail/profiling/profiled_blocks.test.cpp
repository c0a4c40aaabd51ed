// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the table of profiled blocks against std::map: random insertions, removals and ends of pools.
#include <ashlar/detail/profiling/profiled_blocks.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::profiled_blocks;

std::vector<std::byte> memory(1 << 16);

std::set<const void*> ended(profiled_blocks& book, const void* pool) {
  std::set<const void*> blocks;
  book.end(pool, [&](const void* block) { EXPECT_TRUE(blocks.insert(block).second); });
  return blocks;
}

TEST(profiled_blocks, behaves_as_a_map) {
  std::mt19937 random(7);
  profiled_blocks book;
  std::map<const void*, const void*> oracle;
  const std::array<int, 3> pools = {};
  for (int step = 0; step < (ashlar_test::is_slow ? 15'000 : 60'000); ++step) {
    const std::byte* const block = &memory[random() % memory.size()];
    const int* const pool = &pools[random() % pools.size()];
    if (oracle.contains(block) || random() % 4 == 0) {
      book.forget(block);
      oracle.erase(block);
    } else {
      book.note(block, pool);
      oracle.emplace(block, pool);
    }
    if (step % 7000 != 6999) continue;
    std::set<const void*> expected;
    for (const auto& [at, whose] : oracle)
      if (whose == pool) expected.insert(at);
    EXPECT_EQ(ended(book, pool), expected);
    std::erase_if(oracle, [&](const auto& each) { return each.second == pool; });
    ASSERT_EQ(book.size(), oracle.size());
    ASSERT_TRUE(book.invariant());
  }
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

TEST(profiled_blocks, an_empty_book_takes_every_question) {
  profiled_blocks book;
  book.forget(memory.data());
  EXPECT_TRUE(ended(book, nullptr).empty());
  EXPECT_TRUE(book.size() == 0 && book.invariant());
}

TEST(profiled_blocks, threads_note_their_own) {
  profiled_blocks book;
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&book, mine = &memory[thread * 1000]] {
      for (std::size_t i = 0; i < 1000; ++i) book.note(mine + i, mine);
      for (std::size_t i = 0; i < 1000; i += 2) book.forget(mine + i);
    });
  for (auto& each : threads) each.join();
  EXPECT_EQ(book.size(), 2000);
  for (std::size_t thread = 0; thread < 4; ++thread) EXPECT_EQ(ended(book, &memory[thread * 1000]).size(), 500);
  EXPECT_TRUE(book.size() == 0 && book.invariant());
}

}  // namespace
