// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of blocks with boundary tags: headers, neighbours, links, and the detection by a sealed header.
#include <ashlar/detail/tlsf/tlsf_block.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/detail/support/poison.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::tlsf_block;
using ashlar::detail::tlsf_header;

class tlsf_blocks : public ::testing::Test {
protected:
  tlsf_blocks() : block_(memory_.data() + tlsf_block::granule) {}
  ~tlsf_blocks() override { ashlar::detail::mark_live(memory_.data(), memory_.size()); }

  alignas(16) std::array<std::byte, 512> memory_{};
  tlsf_block block_;
};

TEST_F(tlsf_blocks, strides_hold_what_is_asked_for_and_a_header) {
  EXPECT_EQ(tlsf_block::stride_for(0), tlsf_block::least);
  for (std::size_t bytes = 0; bytes < 300; ++bytes) {
    const std::size_t stride = tlsf_block::stride_for(bytes);
    EXPECT_EQ(stride % tlsf_block::granule, 0u);
    EXPECT_GE(stride, bytes + tlsf_block::header_bytes);
    EXPECT_TRUE(stride == tlsf_block::least || stride < bytes + tlsf_block::header_bytes + tlsf_block::granule);
  }
  if (!ashlar_test::is_checked) EXPECT_EQ(tlsf_block::least, 4 * sizeof(void*));
}

TEST_F(tlsf_blocks, a_header_reads_back_as_written) {
  block_.set_header(96, tlsf_header::first);
  const tlsf_header h = block_.header();
  EXPECT_TRUE(h.stride() == 96 && h.is_first() && !h.is_free() && !h.is_behind_free() && !h.is_end());
  block_.set_behind_free(true);
  EXPECT_TRUE(block_.header().is_behind_free() && block_.header().is_first());
  block_.set_behind_free(false);
  EXPECT_FALSE(block_.header().is_behind_free());
  EXPECT_EQ(block_.header().stride(), 96u);
  EXPECT_TRUE(block_.is_sound());
}

TEST_F(tlsf_blocks, a_free_block_is_found_from_behind_and_carries_links) {
  block_.set_free(96, 0);
  const tlsf_block behind = block_.behind(96);
  EXPECT_EQ(behind.stride_in_front(), 96u);
  EXPECT_EQ(behind.in_front().data(), block_.data());
  ashlar::detail::tlsf_linked_blocks links;
  links.set_next(block_.data(), memory_.data());
  links.set_previous(block_.data(), nullptr);
  EXPECT_EQ(links.next(block_.data()), memory_.data());
  EXPECT_EQ(links.previous(block_.data()), nullptr);
  EXPECT_EQ(links.size(block_.data()), 96u);
  EXPECT_TRUE(block_.is_sound() && block_.header().is_free());
}

TEST_F(tlsf_blocks, a_changed_moved_or_forgotten_header_is_not_sound) {
  if (!tlsf_block::is_sealed) GTEST_SKIP() << "headers are sealed from level checked on";
  std::byte* const at = block_.data() - tlsf_block::header_bytes;
  int unnoticed = 0;
  for (std::size_t byte = 0; byte < tlsf_block::header_bytes; ++byte)
    for (unsigned bit = 0; bit < 8; ++bit) {
      block_.set_header(160, 0);
      ashlar::detail::mark_readable(at, tlsf_block::header_bytes);
      at[byte] ^= static_cast<std::byte>(1u << bit);
      unnoticed += block_.is_sound() ? 1 : 0;
    }
  EXPECT_EQ(unnoticed, 0);
  block_.set_header(160, 0);
  std::byte* const other = block_.data() + 64;
  ashlar::detail::mark_readable(at, 128);
  std::copy(at, at + tlsf_block::header_bytes, other - tlsf_block::header_bytes);
  EXPECT_FALSE(tlsf_block(other).is_sound());
  EXPECT_TRUE(block_.is_sound());
  block_.forget_header();
  EXPECT_FALSE(block_.is_sound());
}

}  // namespace
