// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of blocks of 0 bytes: each has an address of its own, which comes again late, and no memory.
#include <cstddef>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/cell_faults.hpp>
#include <ashlar/detail/heap/zero_blocks.hpp>
#include <ashlar/detail/support/bits.hpp>

#include "tests/death/caught.hpp"

namespace {

using ashlar::fault;
using ashlar_test::caught_in;
using small_range = ashlar::detail::zero_block_range<128>;

class zero_blocks : public ::testing::Test {
protected:
  void expect_fault(fault kind, const void* p) {
    const auto seen = caught_in([&] { range.give(p, &range); });
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->kind, kind) << seen->what;
    EXPECT_EQ(seen->pointer, p);
    EXPECT_EQ(seen->resource, &range);
  }

  small_range range;
};

TEST_F(zero_blocks, are_as_many_as_the_range_has_and_no_two_alike) {
  std::set<void*> live;
  EXPECT_FALSE(range.has(&range));
  for (int i = 0; i < 128; ++i) live.insert(range.take());
  EXPECT_EQ(live.size(), 128u);
  EXPECT_EQ(live.count(nullptr), 0u);
  EXPECT_EQ(range.take(), nullptr) << "all are live";
  for (void* const p : live) {
    EXPECT_TRUE(range.has(p));
    EXPECT_TRUE(ashlar::detail::is_aligned(p, 16));
    range.give(p, 0, &range);
  }
  EXPECT_NE(range.take(), nullptr);
}

TEST_F(zero_blocks, come_again_after_all_others) {
  void* const first = range.take();
  range.give(first, &range);
  for (int i = 1; i < 128; ++i) {
    void* const next = range.take();
    EXPECT_NE(next, first);
    range.give(next, &range);
  }
  EXPECT_EQ(range.take(), first);
}

TEST_F(zero_blocks, have_no_memory_in_the_object) {
  EXPECT_EQ(sizeof(small_range), sizeof(ashlar::detail::zero_block_range<std::size_t{1} << 20>));
}

TEST_F(zero_blocks, misuse_is_reported) {
  auto* const p = static_cast<std::byte*>(range.take());
  expect_fault(fault::misaligned_free, p + 1);
  expect_fault(fault::double_free, p + 16);
  const auto seen = caught_in([&] { range.give(p, 8, &range); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::size_mismatch);
  range.give(p, &range);
  expect_fault(fault::double_free, p);
}

}  // namespace
