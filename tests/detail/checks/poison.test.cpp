// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that poison reports every changed byte and no unchanged one, at any size and alignment.
#include <ashlar/detail/checks/poison.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>

#include "tests/death/caught.hpp"

namespace {

using ashlar::detail::is_poisoned;
using ashlar::detail::poison_block;
using ashlar_test::caught_in;

TEST(poison, every_byte_of_every_size_counts) {
  std::array<unsigned char, 200> memory{};
  for (const std::size_t start : {0u, 1u, 5u})
    for (std::size_t bytes = 0; bytes <= 150; ++bytes) {
      memory.fill(0);
      poison_block(memory.data() + start, bytes);
      ASSERT_TRUE(is_poisoned(memory.data() + start, bytes)) << bytes;
      for (std::size_t at = 0; at < memory.size(); ++at) {
        memory[at] ^= 0x40;
        const bool is_inside = at >= start && at < start + bytes;
        ASSERT_EQ(is_poisoned(memory.data() + start, bytes), !is_inside) << at << " of " << bytes;
        memory[at] ^= 0x40;
      }
    }
}

TEST(poison, nothing_outside_the_block_is_written) {
  std::array<unsigned char, 64> memory{};
  poison_block(memory.data() + 8, 40);
  for (std::size_t at = 0; at < memory.size(); ++at)
    EXPECT_EQ(memory[at], at >= 8 && at < 48 ? ashlar::detail::poison_byte : 0) << at;
}

TEST(poison, a_write_is_reported_with_the_block_and_its_resource) {
  std::array<unsigned char, 128> dead{};
  poison_block(dead.data(), dead.size());
  const auto look = [&] { ashlar::detail::verify_poison(dead.data(), dead.size(), 500, &dead); };
  EXPECT_FALSE(caught_in(look).has_value());
  dead[127] = 0;
  const auto seen = caught_in(look);
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, ashlar::fault::corrupt_link);
  EXPECT_STREQ(seen->what, "a free block was written to");
  EXPECT_EQ(seen->pointer, dead.data());
  EXPECT_EQ(seen->resource, &dead);
  EXPECT_EQ(seen->size, 500u);
}

}  // namespace
