// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The promises of the refinements of a resource, each law as a function of a subject with the refinement.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>

#include "tests/support/ledger.hpp"
#include "tests/support/live_blocks.hpp"
#include "tests/support/subject.hpp"

namespace ashlar_test {

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
  EXPECT_FALSE(s.try_expand(last.data, last.bytes, ashlar::detail::max_size, last.alignment));
}

}  // namespace ashlar_test
