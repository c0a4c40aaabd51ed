// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of poison and canary: each changed byte is reported, and no unchanged one.
#include <array>
#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/block_canary.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar_test::caught_in;

TEST(block_canary, every_byte_of_the_poison_counts) {
  std::array<std::byte, 5000> dead{};
  for (const std::size_t held : {1u, 7u, 16u, 64u, 72u, 128u, 511u, 512u, 519u, 4096u, 4800u}) {
    ashlar::detail::poison_block(dead.data(), held);
    const auto look = [&] { ashlar::detail::verify_poison(dead.data(), held, held, &dead); };
    EXPECT_FALSE(caught_in(look).has_value());
    for (std::size_t at = 0; at < dead.size(); ++at) {
      const std::byte was = dead[at];
      dead[at] ^= std::byte{1};
      const auto seen = caught_in(look);
      ASSERT_EQ(seen.has_value(), at < held) << at;
      dead[at] = was;
      if (!seen) continue;
      EXPECT_EQ(seen->kind, ashlar::fault::corrupt_link);
      EXPECT_EQ(seen->pointer, dead.data());
      EXPECT_EQ(seen->resource, &dead);
      EXPECT_EQ(seen->size, held);
    }
  }
}

TEST(block_canary, an_overflow_reports_its_extent) {
  if (ashlar_test::has_asan) GTEST_SKIP() << "the slack is marked, and this test writes to it";
  std::array<std::byte, 128> block{};
  ashlar::detail::mark_readable(block.data(), block.size());
  for (std::size_t at = 100; at < block.size(); ++at)  // no level but hardened writes one itself
    block[at] = static_cast<std::byte>(ashlar::detail::canary_secret::byte(&block[at]));
  const auto look = [&] { ashlar::detail::expect_canary(block.data(), 100, 128, &block); };
  EXPECT_FALSE(caught_in(look).has_value());
  block[99] = std::byte{0xFF};
  EXPECT_FALSE(caught_in(look).has_value());
  block[107] ^= std::byte{0x80};
  const auto seen = caught_in(look);
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, ashlar::fault::overflow);
  EXPECT_EQ(seen->expected, 100u);
  EXPECT_EQ(seen->got, 108u);
}

}  // namespace
