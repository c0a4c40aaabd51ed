// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the blocks of a replay: their slots, their stamps, and an allocator of pools.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/study/pooled_allocator.hpp>
#include <ashlar/study/replay.hpp>
#include <ashlar/study/window_compiler.hpp>

namespace {

using ashlar::detail::slot_table;

TEST(slot_table, a_slot_given_back_is_taken_again_only_in_the_next_window) {
  slot_table t;
  EXPECT_EQ(t.take(1), 0u);
  EXPECT_EQ(t.give_back(1), 0u);
  EXPECT_EQ(t.take(2), 1u);
  t.end_window();
  EXPECT_EQ(t.take(3), 0u);
  EXPECT_EQ(t.take(4), 2u);
  EXPECT_EQ(t.count(), 3u);
  EXPECT_EQ(t.live(), 3u);
}

TEST(slot_table, knows_what_is_live) {
  slot_table t;
  EXPECT_EQ(t.take(7), 0u);
  EXPECT_EQ(t.take(7), slot_table::none);
  EXPECT_EQ(t.find(7), 0u);
  EXPECT_EQ(t.find(8), slot_table::none);
  EXPECT_EQ(t.find(0), slot_table::none);
  EXPECT_EQ(t.give_back(8), slot_table::none);
  EXPECT_EQ(t.count(), 1u);
}

using ashlar::detail::touch;

constexpr std::size_t sizes[] = {0, 1, 7, 8, 9, 63, 64, 65, 4096, 4097, 70000};

TEST(touch, writes_inside_the_block_only) {
  for (const std::size_t size : sizes) {
    std::vector<unsigned long long> words(size / 8 + 16, 0);
    auto* bytes = reinterpret_cast<unsigned char*>(words.data());
    touch::write(bytes, size, 0, ~0ull);
    for (std::size_t i = size; i < words.size() * 8; ++i) EXPECT_EQ(bytes[i], 0) << size;
    if (size != 0) {
      EXPECT_NE(bytes[0], 0);
      EXPECT_NE(bytes[size - 1], 0);
    }
  }
}

TEST(touch, grown_blocks_are_written_from_where_they_grew) {
  std::vector<unsigned long long> words(1024, 0);
  auto* bytes = reinterpret_cast<unsigned char*>(words.data());
  touch::write(bytes, 8192, 100, 1);
  for (std::size_t i = 8; i < 100; ++i) EXPECT_EQ(bytes[i], 0);
  EXPECT_EQ(bytes[100], 1);
  EXPECT_EQ(bytes[8191], 1);
}

TEST(touch, a_block_that_is_as_it_was_left_is_known_by_its_stamp) {
  for (const std::size_t size : sizes) {
    std::vector<unsigned long long> words(size / 8 + 16, 0);
    touch::write(words.data(), size, 0, 42);
    EXPECT_TRUE(touch::read_first(words.data(), size, 42));
    words[0] = 7;
    EXPECT_EQ(touch::read_first(words.data(), size, 42), size < 8);
  }
}

TEST(touch, memory_that_is_not_zero_is_noticed) {
  std::vector<unsigned long long> words(1024, 0);
  EXPECT_TRUE(touch::read_zeroed(words.data(), 8192, 1));
  EXPECT_FALSE(touch::read_zeroed(words.data(), 8192, 1)) << "the stamp is there";
}

using ashlar::detail::pooled_allocator;
using ashlar::detail::replay_kind;
using ashlar::detail::replay_request;

struct held {
  void* block;
  replay_request request;
  std::uint64_t stamp;
};

/// Random requests and frees; every block keeps its contents, at an address with its alignment.
template <class Allocator>
void churn(Allocator& allocator, unsigned seed, int steps) {
  std::mt19937 random(seed);
  std::vector<held> blocks;
  for (int i = 0; i < steps; ++i) {
    if (blocks.size() > 200 || (!blocks.empty() && random() % 3 == 0)) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      const held h = blocks.back();
      blocks.pop_back();
      EXPECT_TRUE(touch::read_first(h.block, static_cast<std::size_t>(h.request.size()), h.stamp));
      allocator.deallocate(h.block, h.request);
      continue;
    }
    const std::uint64_t alignment = random() % 4 == 0 ? std::uint64_t{1} << (random() % 9) : 0;
    const bool zeroed = alignment == 0 && random() % 4 == 0;
    const replay_request r(zeroed ? replay_kind::allocate_zeroed : replay_kind::allocate,
                           random() % (1u << (random() % 16)), alignment);
    void* block = allocator.allocate(r);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(ashlar::detail::is_aligned(block, static_cast<std::size_t>(r.alignment())));
    const auto size = static_cast<std::size_t>(r.size());
    if (zeroed) EXPECT_TRUE(touch::read_zeroed(block, size, static_cast<unsigned>(i)));
    else touch::write(block, size, 0, static_cast<unsigned>(i));
    blocks.push_back({block, r, static_cast<unsigned>(i)});
  }
  for (const held& h : blocks) allocator.deallocate(h.block, h.request);
}

TEST(pooled_allocator, blocks_of_all_sizes_keep_to_themselves) {
  pooled_allocator<ashlar::null_lock> allocator;
  churn(allocator, 1, 20000);
}

TEST(pooled_allocator, threads_share_it) {
  pooled_allocator<ashlar::spin_lock> allocator;
  std::thread other([&] { churn(allocator, 2, 10000); });
  churn(allocator, 3, 10000);
  other.join();
}

TEST(pooled_allocator, reallocation_keeps_the_contents) {
  pooled_allocator<ashlar::null_lock> allocator;
  constexpr std::size_t steps[] = {1, 8, 9, 100, 5000, 8192, 8193, 100000, 200000, 30, 2};
  replay_request was(replay_kind::allocate, steps[0], 0);
  auto* block = static_cast<unsigned char*>(allocator.allocate(was));
  block[0] = 77;
  for (const std::size_t size : steps) {
    const replay_request r(replay_kind::reallocate, size, 0);
    block = static_cast<unsigned char*>(allocator.reallocate(block, was, r));
    EXPECT_EQ(block[0], 77);
    std::memset(block + 1, 1, size - 1);
    was = r;
  }
  allocator.deallocate(block, was);
}

}  // namespace
