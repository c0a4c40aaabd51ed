// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of cells that are zero while they are free: each byte is looked at, no other one is changed.
#include <array>
#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/cell_words.hpp>

namespace {

constexpr std::size_t most = 320, beside = 16;  // a size that calls take, and bytes on each side

class cell_words : public ::testing::TestWithParam<std::size_t> {
protected:
  cell_words() { memory_.fill(0xAA); }
  [[nodiscard]] unsigned char* cell() { return memory_.data() + beside; }
  [[nodiscard]] bool are_neighbours_unchanged() {
    for (std::size_t i = 0; i < beside; ++i)
      if (memory_[i] != 0xAA || cell()[GetParam() + i] != 0xAA) return false;
    return true;
  }

  alignas(16) std::array<unsigned char, most + 2 * beside> memory_;
};

TEST_P(cell_words, clear_and_verify_each_byte) {
  ashlar::detail::clear_free(cell(), GetParam());
  EXPECT_TRUE(are_neighbours_unchanged());
  EXPECT_TRUE(ashlar::detail::is_zero(cell(), GetParam()));
  for (std::size_t at = 0; at < GetParam(); ++at) {
    cell()[at] = 1;
    EXPECT_FALSE(ashlar::detail::is_zero(cell(), GetParam())) << at;
    cell()[at] = 0;
  }
}

TEST_P(cell_words, keep_a_canary_after_each_request) {
  if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "known at level hardened, where no tool does";
  for (std::size_t bytes = 1; bytes < GetParam(); ++bytes) {
    ashlar::detail::clear_free(cell(), GetParam());
    if (!ashlar::detail::has_canary_in_granule(bytes, GetParam())) continue;
    ashlar::detail::write_last_granule(cell(), bytes, GetParam());
    for (std::size_t at = 0; at < GetParam(); ++at)
      ASSERT_EQ(cell()[at], at < bytes ? 0 : ashlar::detail::canary_secret::byte(&cell()[at])) << bytes << ' ' << at;
    std::memset(cell(), 0x55, bytes);  // the program's
    EXPECT_TRUE(ashlar::detail::is_last_granule_whole(cell(), bytes, GetParam()));
    for (std::size_t at = bytes; at < GetParam(); ++at) {
      cell()[at] ^= 4;
      EXPECT_FALSE(ashlar::detail::is_last_granule_whole(cell(), bytes, GetParam())) << bytes << ' ' << at;
      cell()[at] ^= 4;
    }
  }
  EXPECT_TRUE(are_neighbours_unchanged());
}

INSTANTIATE_TEST_SUITE_P(sizes, cell_words, ::testing::Values(16, 32, 48, 128, 256, most));

}  // namespace
