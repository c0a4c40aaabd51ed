// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the checks of pointers and tags, on a hand-made region; tests/death has those of the resource.
#include <ashlar/detail/tlsf/tlsf_check.hpp>

#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::detail::tlsf_block;
using ashlar::detail::tlsf_header;

// Three blocks: live, free, live.
class tlsf_check : public ::testing::Test {
protected:
  tlsf_check() : region_(*ashlar::detail::tlsf_region::make({memory_.data(), memory_.size()}, 1u << 20, false)) {
    regions_.insert(&region_);
    first().set_header(stride, tlsf_header::first);
    second().set_free(stride, 0);
    second().set_next(nullptr);
    second().set_previous(nullptr);
    third().set_header(region_.capacity() - 2 * stride, tlsf_header::previous_free);
    tlsf_block(region_.end).set_header(0, 0);
  }
  ~tlsf_check() override { ashlar::detail::mark_live(memory_.data(), memory_.size()); }

  static constexpr std::size_t stride = 96;
  tlsf_block first() { return region_.first(); }
  tlsf_block second() { return first().behind(stride); }
  tlsf_block third() { return second().behind(stride); }
  ashlar::detail::tlsf_site site() { return {regions_, this}; }

  alignas(16) std::array<std::byte, 1024> memory_{};
  ashlar::detail::tlsf_region& region_;
  ashlar::detail::tlsf_regions regions_;
};

TEST_F(tlsf_check, finds_the_region_of_an_address) {
  EXPECT_EQ(site().find(first().data()), &region_);
  EXPECT_EQ(site().find(memory_.data()), nullptr);  // the record
  EXPECT_EQ(site().find(memory_.data() + memory_.size()), nullptr);
  EXPECT_EQ(site().find(nullptr), nullptr);
}

TEST_F(tlsf_check, passes_what_is_right) {
  EXPECT_EQ(ashlar::detail::check_live(first().data(), site()).data(), first().data());
  EXPECT_EQ(ashlar::detail::check_live(third().data(), site()).data(), third().data());
  ashlar::detail::check_member(second().data(), site());
  const std::size_t usable = stride - tlsf_block::header_bytes;
  ashlar::detail::check_size(first(), usable, site());
  ashlar::detail::check_size(first(), usable - tlsf_block::granule, site());  // too little to be cut off
  ashlar::detail::check_alignment(first(), tlsf_block::granule, site());
}

TEST_F(tlsf_check, reports_what_is_not) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "headers are sealed from level checked on";
  ASHLAR_EXPECT_DEATH(ashlar::detail::check_live(second().data(), site()),
                      "ashlar: double_free: freed a block that is free, pointer 0x*, resource 0x*");
  ASHLAR_EXPECT_DEATH(
      {
        third().set_header(stride, 0);  // without the flag of a free block in front
        ashlar::detail::check_member(second().data(), site());
      },
      "ashlar: corrupt_link: a free block was written to, pointer 0x*, resource 0x*");
  ASHLAR_EXPECT_DEATH(
      {
        second().set_next(first().data());  // not a free block
        ashlar::detail::check_member(second().data(), site());
      },
      "ashlar: corrupt_link: a free block was written to, pointer 0x*, resource 0x*");
  ASHLAR_EXPECT_DEATH(
      {
        first().forget_header();
        ashlar::detail::check_live(first().data(), site());
      },
      "ashlar: underflow: bytes before the first block of a region were written to, pointer 0x*, resource 0x*");
}

TEST_F(tlsf_check, slack_tells_the_size_that_was_asked_for) {
  for (std::size_t wanted = 20; wanted < 80; ++wanted) {
    ashlar::detail::mark_live(first().data(), wanted);
    ashlar::detail::tlsf_slack::fill(first().data(), wanted, 80);
    EXPECT_EQ(ashlar::detail::tlsf_slack::wanted(first().data(), 80), wanted);
    ashlar::detail::tlsf_slack::check(first().data(), wanted, 80, site());
  }
}

}  // namespace
