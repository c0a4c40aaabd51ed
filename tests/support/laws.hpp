// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The laws that every resource obeys, and those of its refinements, each as a function of a subject (see
// conformance.hpp).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <random>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/live_blocks.hpp"
#include "tests/support/subject.hpp"

namespace ashlar_test {

inline void aligns_blocks(any_subject& s) {
  live_blocks blocks(s);
  for (std::size_t alignment = 1; alignment <= s.traits.max_alignment; alignment *= 2)
    for (const std::size_t bytes : {std::size_t{1}, s.traits.largest / 2 + 1, s.traits.largest}) {
      ASSERT_TRUE(blocks.try_allocate(bytes, alignment)) << bytes << " at " << alignment;
      ASSERT_TRUE(s.invariant());
      if (blocks.size() > 8) blocks.free_all();
    }
}

inline void keeps_empty_blocks_apart(any_subject& s) {
  live_blocks blocks(s);
  for (int round = 0; round < 8; ++round) {
    ASSERT_TRUE(blocks.try_allocate(0, 1));
    ASSERT_TRUE(blocks.try_allocate(1, 1));
  }
  ASSERT_TRUE(s.invariant());
}

// A random walk: mostly half full, with every size and alignment, and each step checked.
inline void keeps_blocks_apart(any_subject& s, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const auto alignments = static_cast<std::size_t>(std::countr_zero(s.traits.max_alignment)) + 1;
  live_blocks blocks(s);
  std::size_t allocated = 0;
  const std::size_t steps = cases_of_build(s.traits.churn_steps / 2, s.traits.churn_steps);
  for (std::size_t step = 0; step < steps; ++step) {
    if (blocks.size() == 0 || (blocks.size() < s.traits.most_live && below(2) == 0)) {
      const bool got = blocks.try_allocate(below(s.traits.largest + 1), std::size_t{1} << below(alignments));
      ASSERT_TRUE(got || s.traits.bounded);
      allocated += got ? 1 : 0;
    } else {
      blocks.free(s.traits.any_order ? below(blocks.size()) : blocks.size() - 1);
    }
    ASSERT_TRUE(s.invariant()) << "step " << step;
  }
  EXPECT_GT(allocated, s.traits.bounded ? 0 : steps / 4);
  EXPECT_TRUE(blocks.all_intact());
}

inline void equals_itself(any_subject& a, any_subject& b) {
  EXPECT_TRUE(a.equals(a));
  EXPECT_FALSE(a.differs_from(a));
  EXPECT_EQ(a.equals(b), b.equals(a));
  if (!a.equals(b)) return;
  void* const p = a.allocate(a.traits.largest, 1);
  b.deallocate(p, a.traits.largest, 1);  // the meaning of equality
}

inline void expect_refused(any_subject& s, std::size_t bytes, std::size_t alignment) {
  if (s.traits.refuses_by_null) EXPECT_EQ(s.try_allocate(bytes, alignment), nullptr) << bytes;
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(s.allocate(bytes, alignment)), std::bad_alloc) << bytes;
#endif
}

// Requests above PTRDIFF_MAX are refused by rule; those just below it since no machine has as much.
inline void refuses_absurd_sizes(any_subject& s) {
  live_blocks blocks(s);
  ASSERT_TRUE(blocks.try_allocate(s.traits.largest, 1));
  const holdings before = s.balance();
  constexpr std::size_t most = ashlar::max_block_bytes;
  for (std::size_t alignment = 1; alignment <= s.traits.max_alignment; alignment *= 4) {
    for (std::size_t less = 0; less <= 64; ++less) {
      expect_refused(s, std::numeric_limits<std::size_t>::max() - less, alignment);
      expect_refused(s, most + 1 + less, alignment);
      if (!huge_requests_abort || s.traits.counts_upstream) expect_refused(s, most - less, alignment);
    }
    expect_refused(s, most, alignment);
  }
  EXPECT_EQ(s.balance(), before);
  EXPECT_TRUE(s.invariant());
  EXPECT_TRUE(blocks.all_intact());
  EXPECT_TRUE(blocks.try_allocate(s.traits.largest, 1));
}

inline void refuses_bad_alignments(any_subject& s) {
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}, std::size_t{4095}})
    for (const std::size_t bytes : {std::size_t{1}, s.traits.largest})
      ASHLAR_EXPECT_DEATH(static_cast<void>(s.allocate(bytes, alignment)),
                          "ashlar: precondition: alignment is not a power of two");
}

/// Returns: whether the resource refused a block of the largest size, as it should before `most_served` of them.
[[nodiscard]] inline bool exhaust(live_blocks<any_subject>& blocks, const subject_traits& of) {
  for (int left = of.most_served; left != 0; --left)
    if (!blocks.try_allocate(of.largest, 1)) return true;
  return false;
}

// Fill, fail a thousand times, free one block, and continue (a bounded resource); or wait for the upstream to recover.
inline void recovers_from_exhaustion(any_subject& s) {
  live_blocks blocks(s);
  ASSERT_TRUE(blocks.try_allocate(s.traits.largest, 1));
  s.set_upstream_failing(true);
  ASSERT_TRUE(exhaust(blocks, s.traits));
  const holdings before = s.balance();
  for (int again = 0; again < 1000; ++again) expect_refused(s, s.traits.largest, 1);
  EXPECT_EQ(s.balance(), before);
  EXPECT_TRUE(s.invariant());
  EXPECT_TRUE(blocks.all_intact());
  if (s.traits.reuses) blocks.free(blocks.size() - 1);
  if (!s.traits.reuses) s.set_upstream_failing(false);
  if (s.traits.reuses || !s.traits.bounded) EXPECT_TRUE(blocks.try_allocate(s.traits.largest, 1));
  EXPECT_TRUE(s.invariant());
  s.set_upstream_failing(false);
}

// Every byte of a live block is owned; stack, static and heap memory of others is not.
inline void owns_its_blocks_only(any_subject& s) {
  static int in_static_memory = 0;
  const int on_the_stack = 0;
  const auto on_the_heap = std::make_unique<int>(0);
  const auto owns_a_stranger = [&] {
    return s.owns(&in_static_memory) || s.owns(&on_the_stack) || s.owns(on_the_heap.get()) || s.owns(nullptr);
  };
  EXPECT_FALSE(owns_a_stranger());
  live_blocks blocks(s);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(blocks.try_allocate(s.traits.largest, 1));
    const auto& got = blocks[blocks.size() - 1];
    EXPECT_TRUE(s.owns(got.data));
    EXPECT_TRUE(s.owns(static_cast<std::byte*>(got.data) + got.bytes - 1));
    EXPECT_FALSE(owns_a_stranger());
  }
}

// Twice, since a resource must be as newly made after it.
inline void releases_everything(any_subject& s) {
  for (int round = 0; round < 2; ++round) {
    live_blocks blocks(s);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(blocks.try_allocate(s.traits.largest, 1) || s.traits.bounded);
    while (blocks.size() != 0) static_cast<void>(blocks.forget(blocks.size() - 1));
    s.release();
    EXPECT_EQ(s.balance(), nothing);
    EXPECT_TRUE(s.invariant());
  }
  s.release();
  EXPECT_TRUE(s.invariant());
}

// All bytes of the block are writable; any size from the requested to the usable one frees it.
inline void gives_at_least(any_subject& s) {
  live_blocks blocks(s);
  for (std::size_t bytes = 0; bytes <= s.traits.largest; bytes += 1 + bytes / 3) {
    for (const bool by_all : {false, true}) {
      const ashlar::block got = s.allocate_at_least(bytes, 1);
      ASSERT_GE(got.size, bytes);
      blocks.hold(got.data, got.size, 1);
      ASSERT_TRUE(blocks.try_allocate(bytes, 1));
      EXPECT_TRUE(blocks.all_intact());
      static_cast<void>(blocks.forget(blocks.size() - 2));
      s.deallocate(got.data, by_all ? got.size : bytes, 1);
      ASSERT_TRUE(s.invariant());
    }
  }
}

inline void prefaults_without_harm(any_subject& s) {
  live_blocks blocks(s);
  ASSERT_TRUE(blocks.try_allocate(s.traits.largest, 1));
  s.prefault(blocks[0].data, blocks[0].bytes);
  EXPECT_TRUE(blocks.all_intact());
  s.prefault(blocks[0].data, 0);
}

inline void finds_the_size_of_a_block(any_subject& s) {
  live_blocks blocks(s);
  s.deallocate(nullptr);  // the resource has no memory yet
  for (std::size_t bytes = 0; bytes <= s.traits.largest; bytes += 1 + bytes / 2) {
    ASSERT_TRUE(blocks.try_allocate(bytes, 1));
    ASSERT_TRUE(blocks.try_allocate(s.traits.largest - bytes, s.traits.max_alignment));
    s.deallocate(blocks.forget(blocks.size() - 2).data);
    s.deallocate(nullptr);
    ASSERT_TRUE(s.invariant());
  }
  while (blocks.size() != 0) s.deallocate(blocks.forget(blocks.size() - 1).data);
}

// The contents stay up to the smaller size, for either result; after a success, the new size frees the block.
inline void expands_in_place(any_subject& s) {
  live_blocks blocks(s);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(blocks.try_allocate(s.traits.largest / 2, 1));
  for (const std::size_t wanted : {s.traits.largest, s.traits.largest / 2 + 1, s.traits.largest / 4, std::size_t{1}}) {
    const auto old = blocks.forget(s.traits.any_order ? blocks.size() / 2 : blocks.size() - 1);
    const bool yes = s.try_expand(old.data, old.bytes, wanted, old.alignment);
    EXPECT_TRUE(has_pattern(old.data, std::min(old.bytes, yes ? wanted : old.bytes), old.seed));
    blocks.hold(old.data, yes ? wanted : old.bytes, old.alignment);
    ASSERT_TRUE(s.invariant());
  }
  EXPECT_TRUE(blocks.all_intact());
  const auto& last = blocks[0];
  EXPECT_FALSE(s.try_expand(last.data, last.bytes, ashlar::max_size, last.alignment));
}

}  // namespace ashlar_test
