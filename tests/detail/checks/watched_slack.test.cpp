// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the canary that is marked as free: it is intact or gives the end of writes; and of the two reports.
#include <ashlar/detail/checks/watched_slack.hpp>

#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/detail/support/poison.hpp>

#include "tests/support/death.hpp"

namespace {

TEST(watched_slack, is_intact_or_gives_the_extent_of_writes) {
  std::array<std::byte, 96> block{};
  for (std::size_t bytes = 0; bytes < block.size(); bytes += 5) {
    ashlar::detail::fill_watched_slack(block.data(), bytes, block.size());
    EXPECT_TRUE(ashlar::detail::look_at_watched_slack(block.data(), bytes, block.size()).is_intact);
    ashlar::detail::mark_live(block.data() + bytes, 1);
    block[bytes] ^= std::byte{1};
    const ashlar::detail::slack_state found = ashlar::detail::look_at_watched_slack(block.data(), bytes, block.size());
    EXPECT_FALSE(found.is_intact);
    if (bytes + 1 < block.size()) EXPECT_EQ(found.written_to, bytes + 1);
    ashlar::detail::mark_live(block.data(), block.size());
  }
}

TEST(watched_slack, reports_writes_beside_a_block) {
  int block = 0;
  ASHLAR_EXPECT_DEATH(
      ashlar::detail::report_write_behind(&block, 0, 100, 101, &block),
      "ashlar: overflow: bytes past the end of a block were written to, pointer 0x*, resource 0x*, expected "
      "100, got 101");
  ASHLAR_EXPECT_DEATH(ashlar::detail::report_write_before(&block, 24, &block),
                      "ashlar: underflow: bytes before a block were written to, pointer 0x*, resource 0x*, size 24");
}

}  // namespace
