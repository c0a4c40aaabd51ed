// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of regions and their index without an upstream: good fit, gaps, and empty regions.
#include <ashlar/detail/tlsf/tlsf_space.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/support/bits.hpp>

namespace {

using ashlar::detail::tlsf_block;
using ashlar::detail::tlsf_region;
using space = ashlar::detail::tlsf_space<ashlar::tlsf_small>;

class tlsf_spaces : public ::testing::Test {
protected:
  tlsf_spaces() { space_->add(tlsf_region::make({memory_.data(), memory_.size()}, space::most, true)); }
  ~tlsf_spaces() override {
    ashlar::detail::mark_live(memory_.data(), memory_.size());
    ashlar::detail::mark_live(more_.data(), more_.size());
  }

  alignas(64) std::array<std::byte, 4096> memory_{};
  alignas(64) std::array<std::byte, 1024> more_{};
  std::unique_ptr<space> space_ = std::make_unique<space>();
};

TEST_F(tlsf_spaces, what_was_freed_last_of_a_size_is_taken_first) {
  std::array<std::byte*, 6> p;
  for (std::byte*& each : p) each = space_->take(100, 1, this);
  space_->give(p[0]);
  space_->give(p[2]);
  EXPECT_EQ(space_->take(100, 1, this), p[2]);
  EXPECT_EQ(space_->take(100, 1, this), p[0]);
  EXPECT_TRUE(space_->invariant());
}

TEST_F(tlsf_spaces, a_small_hole_is_taken_before_the_large_rest) {
  std::byte* const hole = space_->take(200, 1, this);
  std::byte* const wall = space_->take(10, 1, this);
  space_->give(hole);
  EXPECT_EQ(space_->take(150, 1, this), hole);
  EXPECT_GT(space_->take(300, 1, this), wall);
  EXPECT_TRUE(space_->invariant());
}

TEST_F(tlsf_spaces, the_gap_in_front_of_an_aligned_block_is_a_block) {
  for (std::size_t alignment = 32; alignment <= 512; alignment *= 2) {
    std::byte* const p = space_->take(24, alignment, this);
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(ashlar::detail::is_aligned(p, alignment));
    EXPECT_LE(space_->used(), 2 * tlsf_block::least + tlsf_block::granule);
    EXPECT_TRUE(space_->invariant());
    space_->give(p);
  }
  EXPECT_EQ(space_->take(1, std::size_t{1} << 19, this), nullptr);
}

TEST_F(tlsf_spaces, names_the_region_that_became_empty_and_counts_them) {
  tlsf_region* const second = tlsf_region::make({more_.data(), more_.size()}, space::most, true);
  space_->add(second);
  EXPECT_TRUE(space_->lent() == 2 && space_->empty() == 2);
  std::byte* const large = space_->take(2000, 1, this);
  std::byte* const small = space_->take(500, 1, this);
  EXPECT_TRUE(second->holds(small));  // the better fit
  EXPECT_EQ(space_->empty(), 0u);
  EXPECT_EQ(space_->give(small), second);
  EXPECT_EQ(space_->empty(), 1u);
  space_->remove(second);
  EXPECT_EQ(space_->lent(), 1u);
  EXPECT_TRUE(space_->invariant());
  EXPECT_NE(space_->give(large), nullptr);
  EXPECT_TRUE(space_->invariant());
  EXPECT_EQ(space_->used(), 0u);
}

TEST_F(tlsf_spaces, serves_its_largest_block_where_a_region_is_as_large_as_any) {
  std::vector<std::byte> memory(space::most + 2 * tlsf_region::overhead());
  space_->add(tlsf_region::make({memory.data(), memory.size()}, space::most, true));
  EXPECT_EQ(space_->largest_free(), space::most_room);
  std::byte* const p = space_->take(space::most_room, 1, this);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(space_->take(space::most_room + 1, 1, this), nullptr);
  space_->give(p);
  EXPECT_TRUE(space_->invariant());
  ashlar::detail::mark_live(memory.data(), memory.size());
}

TEST_F(tlsf_spaces, resizes_within_what_is_free_behind) {
  std::byte* const p = space_->take(100, 1, this);
  EXPECT_TRUE(space_->resize(p, 1000));
  EXPECT_GE(space::room_of(p), 1000u);
  EXPECT_FALSE(space_->resize(p, 5000));
  EXPECT_TRUE(space_->resize(p, 1));
  EXPECT_EQ(space_->used(), tlsf_block::least);
  EXPECT_TRUE(space_->invariant());
}

}  // namespace
