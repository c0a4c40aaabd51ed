// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of empty blocks, invalid alignments and sizes beyond 32 bits, by every call of a heap.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/heap/local_heap.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::local_heap;
using ashlar::max_size;

constexpr std::size_t kib = 1024, mib = 1024 * kib;

using call = void* (*)(local_heap<>&, std::size_t bytes, std::size_t alignment);
constexpr call every_call[] = {
    [](local_heap<>& heap, std::size_t n, std::size_t a) { return heap.try_allocate(n, a); },
    [](local_heap<>& heap, std::size_t n, std::size_t a) { return heap.try_reallocate(nullptr, n, a); },
    [](local_heap<>& heap, std::size_t n, std::size_t a) { return heap.try_reallocate(heap.try_allocate(100), n, a); },
    [](local_heap<>& heap, std::size_t n, std::size_t a) { return heap.allocate(n, a); },
    [](local_heap<>& heap, std::size_t n, std::size_t a) { return heap.allocate_zeroed(n, a); },
    [](local_heap<>& heap, std::size_t n, std::size_t a) { return heap.allocate_at_least(n, a).data; },
    [](local_heap<>& heap, std::size_t n, std::size_t a) { return heap.reallocate(nullptr, n, a); }};

TEST(heap_requests, what_is_no_power_of_two_is_the_end) {
  local_heap<> heap;
  void* const p = heap.allocate(100);
  for (const std::size_t alignment :
       {std::size_t{0}, std::size_t{3}, std::size_t{24}, 4 * kib + 1, max_size / 2 + 2, max_size})
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, 100 * kib, 5 * mib, max_size})
      for (const call each : every_call) {
        const auto seen = ashlar_test::caught_in([&] { static_cast<void>(each(heap, bytes, alignment)); });
        ASSERT_TRUE(seen.has_value()) << alignment;
        EXPECT_EQ(seen->kind, ashlar::fault::precondition);
        EXPECT_STREQ(seen->what, "alignment is not a power of two");
      }
  ASHLAR_EXPECT_DEATH(static_cast<void>(heap.try_reallocate(p, 100, 24)),
                      "ashlar: precondition: alignment is not a power of two");
  EXPECT_TRUE(heap.invariant());
}

TEST(heap_requests, blocks_of_nothing_are_blocks) {
  local_heap<> heap;
  std::set<void*> held;
  for (const call each : every_call)
    for (std::size_t alignment = 1; alignment <= 8 * mib; alignment *= 4) {
      void* const p = each(heap, 0, alignment);
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(held.insert(p).second && ashlar::is_aligned(p, alignment));
      std::memset(p, 0xEE, heap.usable_size(p));
      EXPECT_TRUE(heap.try_expand(p, 0, 0, alignment) || alignment >= 4 * mib);
      if (alignment % 3 == 1) heap.deallocate(p, 0, alignment), held.erase(p);
    }
  EXPECT_TRUE(held.insert(heap.allocate<0>()).second);
  for (void* const p : held) heap.deallocate(p);
  void* const shrunk = heap.reallocate(heap.allocate(100), 0);
  ASSERT_NE(shrunk, nullptr) << "a block of nothing, as allocate(0) gives";
  heap.deallocate(shrunk, 0);
  EXPECT_TRUE(heap.invariant());
}

// Sizes and counts beyond 2^32 in one heap, with untouched pages.
TEST(heap_requests, more_than_32_bits_can_count) {
  if (sizeof(void*) == 4 || ashlar_test::has_asan || ashlar_test::has_tsan) GTEST_SKIP() << "too much address space";
  local_heap<> heap;
  constexpr std::size_t bytes = (std::size_t{1} << (sizeof(void*) == 8 ? 33 : 22)) + 4096;
  std::vector<void*> held;
  for (int i = 0; i < 3; ++i) held.push_back(heap.try_allocate(bytes));
  if (held.back() == nullptr) GTEST_SKIP() << "the system refuses so much";
  for (void* const p : held) {
    EXPECT_EQ(heap.usable_size(p), bytes);
    EXPECT_TRUE(heap.owns(static_cast<std::byte*>(p) + bytes - 1));
    static_cast<std::byte*>(p)[bytes - 1] = std::byte{1};
  }
  EXPECT_EQ(heap.held_bytes(), 3 * ashlar::align_up(ashlar::detail::with_canary(bytes), std::size_t{4096}));
  std::uint64_t seen = 0;
  heap.for_each_live([&](void*, std::size_t size) { seen += size; });
  EXPECT_EQ(seen, 3 * bytes);
  EXPECT_TRUE(heap.try_expand(held[0], bytes, bytes - 1, 16));
  EXPECT_TRUE(heap.invariant());
  for (void* const p : held) heap.deallocate(p, bytes - (p == held[0] ? 1 : 0));
  EXPECT_EQ(heap.held_bytes(), 0u);
  EXPECT_TRUE(heap.invariant());
}

}  // namespace
