// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the default options of heaps.
#include <ashlar/heap/heap_options.hpp>

#include <gtest/gtest.h>

#include <ashlar/detail/support/bits.hpp>

namespace {

TEST(heap_options, limit_nothing_but_what_is_kept) {
  constexpr ashlar::heap_options chosen{};
  EXPECT_EQ(chosen.max_bytes, ashlar::detail::max_size);
  EXPECT_EQ(chosen.retain_bytes, 16u << 20);
  EXPECT_GT(chosen.max_cached_cells, 0u);
}

}  // namespace
