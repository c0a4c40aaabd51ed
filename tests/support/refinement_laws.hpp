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
#include "tests/support/resource_laws.hpp"

namespace ashlar_test {

// Every byte of a live block is owned; stack, static and heap memory of others is not.
template <class Subject>
void owns_its_blocks_only(Subject& subject) {
  auto& r = subject.resource;
  static int in_static_memory = 0;
  const int on_the_stack = 0;
  const auto on_the_heap = std::make_unique<int>(0);
  const auto owns_a_stranger = [&] {
    return r.owns(&in_static_memory) || r.owns(&on_the_stack) || r.owns(on_the_heap.get()) || r.owns(nullptr);
  };
  EXPECT_FALSE(owns_a_stranger());
  live_blocks blocks(r);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(blocks.try_allocate(Subject::largest, 1));
    const auto& got = blocks[blocks.size() - 1];
    EXPECT_TRUE(r.owns(got.data));
    EXPECT_TRUE(r.owns(static_cast<std::byte*>(got.data) + got.bytes - 1));
    EXPECT_FALSE(owns_a_stranger());
  }
}

// Twice, since a resource must be as newly made after it.
template <class Subject>
void releases_everything(Subject& subject) {
  auto& r = subject.resource;
  for (int round = 0; round < 2; ++round) {
    live_blocks blocks(r);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(blocks.try_allocate(Subject::largest, 1) || Subject::bounded);
    while (blocks.size() != 0) static_cast<void>(blocks.forget(blocks.size() - 1));
    r.release();
    EXPECT_EQ(upstream_balance(subject), nothing);
    EXPECT_TRUE(invariant_of(r));
  }
  r.release();
  EXPECT_TRUE(invariant_of(r));
}

// All bytes of the block are writable; any size from the requested to the usable one frees it.
template <class Subject>
void gives_at_least(Subject& subject) {
  auto& r = subject.resource;
  live_blocks blocks(r);
  for (std::size_t bytes = 0; bytes <= Subject::largest; bytes += 1 + bytes / 3) {
    for (const bool by_all : {false, true}) {
      const ashlar::block got = r.allocate_at_least(bytes, 1);
      ASSERT_GE(got.size, bytes);
      blocks.hold(got.data, got.size, 1);
      ASSERT_TRUE(blocks.try_allocate(bytes, 1));
      EXPECT_TRUE(blocks.all_intact());
      static_cast<void>(blocks.forget(blocks.size() - 2));
      r.deallocate(got.data, by_all ? got.size : bytes, 1);
      ASSERT_TRUE(invariant_of(r));
    }
  }
}

template <class Subject>
void prefaults_without_harm(Subject& subject) {
  live_blocks blocks(subject.resource);
  ASSERT_TRUE(blocks.try_allocate(Subject::largest, 1));
  subject.resource.prefault(blocks[0].data, blocks[0].bytes);
  EXPECT_TRUE(blocks.all_intact());
  subject.resource.prefault(blocks[0].data, 0);
}

template <class Subject>
void finds_the_size_of_a_block(Subject& subject) {
  live_blocks blocks(subject.resource);
  subject.resource.deallocate(nullptr);  // the resource has no memory yet
  for (std::size_t bytes = 0; bytes <= Subject::largest; bytes += 1 + bytes / 2) {
    ASSERT_TRUE(blocks.try_allocate(bytes, 1));
    ASSERT_TRUE(blocks.try_allocate(Subject::largest - bytes, Subject::max_alignment));
    subject.resource.deallocate(blocks.forget(blocks.size() - 2).data);
    subject.resource.deallocate(nullptr);
    ASSERT_TRUE(invariant_of(subject.resource));
  }
  while (blocks.size() != 0) subject.resource.deallocate(blocks.forget(blocks.size() - 1).data);
}

// The contents stay up to the smaller size, for either result; after a success, the new size frees the block.
template <class Subject>
void expands_in_place(Subject& subject) {
  auto& r = subject.resource;
  live_blocks blocks(r);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(blocks.try_allocate(Subject::largest / 2, 1));
  for (const std::size_t wanted : {Subject::largest, Subject::largest / 2 + 1, Subject::largest / 4, std::size_t{1}}) {
    const auto old = blocks.forget(Subject::any_order ? blocks.size() / 2 : blocks.size() - 1);
    const bool yes = r.try_expand(old.data, old.bytes, wanted, old.alignment);
    EXPECT_TRUE(has_pattern(old.data, std::min(old.bytes, yes ? wanted : old.bytes), old.seed));
    blocks.hold(old.data, yes ? wanted : old.bytes, old.alignment);
    ASSERT_TRUE(invariant_of(r));
  }
  EXPECT_TRUE(blocks.all_intact());
  const auto& last = blocks[0];
  EXPECT_FALSE(r.try_expand(last.data, last.bytes, ashlar::detail::max_size, last.alignment));
}

}  // namespace ashlar_test
