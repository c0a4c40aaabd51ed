// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the poison in free blocks: poisoned bytes, the record of bare bytes, and both after merges and cuts.
#include <ashlar/detail/tlsf/tlsf_poison.hpp>

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/tlsf/tlsf_block.hpp>

#include "tests/support/death.hpp"

namespace {

using ashlar::detail::tlsf_block;
using poison = ashlar::detail::tlsf_poison_kept;

class tlsf_poisons : public ::testing::Test {
protected:
  ~tlsf_poisons() override { ashlar::detail::mark_live(memory_.data(), memory_.size()); }

  tlsf_block block() { return tlsf_block(ashlar::detail::align_up(memory_.data() + 64, tlsf_block::granule)); }

  // A free block that was in use as a whole.
  tlsf_block used(std::size_t stride) {
    const tlsf_block made = block();
    const poison freed = poison::of_freed(made.data(), made.data() + stride - tlsf_block::header_bytes);
    freed.keep_in(made, stride);
    return made;
  }

  static void write(std::byte* at) {
    ashlar::detail::mark_readable(at, 1);
    *at ^= std::byte{1};
  }

  // Returns: whether a write to byte `at` is detected; it is undone.
  static bool is_noticed(const tlsf_block& block, std::size_t stride, std::size_t at) {
    write(block.data() + at);
    const bool noticed = !poison::is_intact(block, stride);
    write(block.data() + at);
    return noticed;
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(256 * 1024);
};

constexpr std::size_t tags = tlsf_block::header_bytes + tlsf_block::footer_bytes;

TEST_F(tlsf_poisons, a_write_to_any_byte_of_a_used_block_is_noticed_links_and_footer_apart) {
  for (const std::size_t stride :
       {tlsf_block::least, std::size_t{64}, std::size_t{112}, std::size_t{128}, std::size_t{400}}) {
    const tlsf_block dead = used(stride);
    ASSERT_TRUE(poison::is_intact(dead, stride));
    for (std::size_t at = poison::links_bytes; at < stride - tags; ++at)
      EXPECT_TRUE(is_noticed(dead, stride, at)) << stride << ' ' << at;
    EXPECT_FALSE(is_noticed(dead, stride, 0));
    EXPECT_FALSE(is_noticed(dead, stride, stride - tags));
  }
}

TEST_F(tlsf_poisons, a_region_never_handed_out_holds_none_and_is_not_touched) {
  const tlsf_block dead = block();
  poison::of_region(dead, 4096).keep_in(dead, 4096);
  EXPECT_TRUE(poison::is_intact(dead, 4096));
  EXPECT_TRUE(is_noticed(dead, 4096, poison::links_bytes)) << "the record";
  for (std::size_t at = poison::start_bytes; at < 4096; ++at) EXPECT_FALSE(is_noticed(dead, 4096, at));
}

TEST_F(tlsf_poisons, of_a_large_block_start_and_end_hold_some) {
  constexpr std::size_t stride = 200'000;
  const tlsf_block dead = used(stride);
  EXPECT_TRUE(is_noticed(dead, stride, poison::most_at_start - 1));
  EXPECT_FALSE(is_noticed(dead, stride, poison::most_at_start));
  EXPECT_FALSE(is_noticed(dead, stride, stride / 2));
  EXPECT_TRUE(is_noticed(dead, stride, stride - tlsf_block::header_bytes - poison::most_at_end));
}

TEST_F(tlsf_poisons, a_small_rest_of_a_region_is_poisoned_for_want_of_a_record) {
  const tlsf_block dead = block();
  poison::of_region(dead, 4096).keep_in(dead, 96);
  for (std::size_t at = poison::links_bytes; at < 96 - tags; ++at) EXPECT_TRUE(is_noticed(dead, 96, at));
}

TEST_F(tlsf_poisons, two_blocks_that_are_joined_are_poisoned_across_the_seam) {
  const tlsf_block front = used(160);
  const tlsf_block behind = front.behind(160);
  poison::of_freed(behind.data(), behind.data() + 240 - tlsf_block::header_bytes).keep_in(behind, 240);
  poison joined;
  joined.add_block(front, 160);
  joined.add_block(behind, 240);
  poison::poison_start(behind);
  poison::poison_seam(behind);
  joined.keep_in(front, 400);
  EXPECT_TRUE(poison::is_intact(front, 400));
  for (std::size_t at = poison::links_bytes; at < 400 - tags; ++at) EXPECT_TRUE(is_noticed(front, 400, at)) << at;
}

TEST_F(tlsf_poisons, what_lies_between_bare_bytes_is_bare) {
  const tlsf_block all = block();
  poison joined = poison::of_region(all, 1024);
  joined.add(poison::of_region(all.behind(2048), 1024));
  joined.add({});
  poison::of_freed(all.data(), all.data() + 4096).keep_in(all, 4096);
  joined.keep_in(all, 4096);
  EXPECT_TRUE(poison::is_intact(all, 4096));
  EXPECT_FALSE(is_noticed(all, 4096, 500));
  EXPECT_FALSE(is_noticed(all, 4096, 1500));
  EXPECT_TRUE(is_noticed(all, 4096, 3500));
}

TEST_F(tlsf_poisons, reports_the_byte_that_was_written_to) {
  const tlsf_block dead = used(400);
  poison::verify(dead, 400, this);
  write(dead.data() + 200);
  poison::verify_part(dead, 400, dead.data(), dead.data() + 200, this);
  poison::verify_part(dead, 400, dead.data() + 201, dead.data() + 1000, this);
  constexpr const char* line = "ashlar: corrupt_link: a free block was written to, pointer 0x*, resource 0x*, size 392";
  ASHLAR_EXPECT_DEATH(poison::verify(dead, 400, this), line);
  ASHLAR_EXPECT_DEATH(poison::verify_part(dead, 400, dead.data() + 200, dead.data() + 201, this), line);
}

}  // namespace
