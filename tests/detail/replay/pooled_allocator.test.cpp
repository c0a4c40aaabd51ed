// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the pooled allocator: sizes, alignments, zeroing, moving, and threads.
#include <ashlar/detail/replay/pooled_allocator.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/replay/touch.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace {

using ashlar::detail::pooled_allocator;
using ashlar::detail::replay_kind;
using ashlar::detail::replay_request;
using ashlar::detail::touch;

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
  constexpr std::size_t sizes[] = {1, 8, 9, 100, 5000, 8192, 8193, 100000, 200000, 30, 2};
  replay_request was(replay_kind::allocate, sizes[0], 0);
  auto* block = static_cast<unsigned char*>(allocator.allocate(was));
  block[0] = 77;
  for (const std::size_t size : sizes) {
    const replay_request r(replay_kind::reallocate, size, 0);
    block = static_cast<unsigned char*>(allocator.reallocate(block, was, r));
    EXPECT_EQ(block[0], 77);
    std::memset(block + 1, 1, size - 1);
    was = r;
  }
  allocator.deallocate(block, was);
}

}  // namespace
