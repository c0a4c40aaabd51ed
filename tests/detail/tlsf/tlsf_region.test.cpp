// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a region: one free block at first, in memory of any alignment, and a walk over its blocks.
#include <ashlar/detail/tlsf/tlsf_region.hpp>

#include <array>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::tlsf_block;
using ashlar::detail::tlsf_header;
using ashlar::detail::tlsf_region;

class tlsf_regions : public ::testing::Test {
protected:
  ~tlsf_regions() override { ashlar::detail::mark_live(memory_.data(), memory_.size()); }
  alignas(64) std::array<std::byte, 1024> memory_{};
};

TEST_F(tlsf_regions, uses_what_it_gets_but_its_overhead) {
  for (std::size_t skip = 0; skip < 40; ++skip)
    for (std::size_t size = 0; size < 700; size += 7) {
      tlsf_region* const region = tlsf_region::make({memory_.data() + skip, size}, 1u << 20, false);
      ASSERT_EQ(region != nullptr, size >= tlsf_region::overhead() + tlsf_block::least);
      if (region == nullptr) continue;
      ASSERT_GE(region->capacity() + tlsf_region::overhead(), size);
      ASSERT_LE(region->end, memory_.data() + skip + size);
      ASSERT_TRUE(region->is_empty() && region->first().header().is_first());
      ASSERT_TRUE(tlsf_block(region->end).header().is_end());
      ASSERT_EQ(tlsf_region::of_first(region->first()), region);
      ashlar::detail::mark_live(memory_.data(), memory_.size());
    }
}

TEST_F(tlsf_regions, is_no_larger_than_a_header_can_say) {
  tlsf_region* const region = tlsf_region::make({memory_.data(), memory_.size()}, 300, true);
  EXPECT_LE(region->capacity(), 300u);
  EXPECT_GT(region->capacity(), 300u - tlsf_block::granule);
}

TEST_F(tlsf_regions, holds_data_and_neither_its_record_nor_the_bytes_after) {
  tlsf_region* const region = tlsf_region::make({memory_.data(), memory_.size()}, 1u << 20, false);
  const std::byte* const first = region->first().data();
  EXPECT_TRUE(region->holds(first) && region->holds(region->end - tlsf_block::header_bytes - 1));
  EXPECT_FALSE(region->holds(first - 1) || region->holds(region->end - tlsf_block::header_bytes));
  EXPECT_FALSE(region->holds(nullptr));
}

TEST_F(tlsf_regions, walks_its_blocks_in_order_and_forgets_their_headers) {
  tlsf_region* const region = tlsf_region::make({memory_.data(), memory_.size()}, 1u << 20, false);
  const std::size_t rest = region->capacity() - 128;
  region->first().set_header(128, tlsf_header::first);
  region->first().behind(128).set_free(rest, 0);
  EXPECT_FALSE(region->is_empty());
  std::vector<std::size_t> strides;
  region->walk([&](const tlsf_block&, tlsf_header h) {
    strides.push_back(h.stride());
    return true;
  });
  EXPECT_EQ(strides, (std::vector<std::size_t>{128, rest}));
  region->forget_headers();
  EXPECT_EQ(region->first().is_sound(), !tlsf_block::is_sealed);
}

}  // namespace
