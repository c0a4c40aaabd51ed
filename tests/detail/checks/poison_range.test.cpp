// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a range of free bytes: intersection, poison, and the first changed byte.
#include <ashlar/detail/checks/poison_range.hpp>

#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/detail/support/poison.hpp>

#include "tests/support/death.hpp"

namespace {

using ashlar::detail::poison_range;

class poison_ranges : public ::testing::Test {
protected:
  ~poison_ranges() override { ashlar::detail::mark_live(memory_.data(), memory_.size()); }

  std::byte* at(std::size_t index) { return memory_.data() + index; }
  void write(std::size_t index) {
    ashlar::detail::mark_readable(at(index), 1);
    memory_[index] ^= std::byte{1};
  }

  std::array<std::byte, 200> memory_{};
};

TEST_F(poison_ranges, is_cut_to_what_lies_within) {
  const poison_range all = {at(50), at(150)};
  EXPECT_EQ(all.bytes(), 100u);
  EXPECT_EQ(all.within(at(0), at(60)).end, at(60));
  EXPECT_EQ(all.within(at(100), at(199)).begin, at(100));
  EXPECT_TRUE(all.within(at(0), at(50)).is_empty() && all.within(at(150), at(160)).is_empty());
  EXPECT_TRUE(poison_range{}.within(at(0), at(199)).is_empty());
}

TEST_F(poison_ranges, finds_the_first_byte_that_was_written_to) {
  const poison_range all = {at(3), at(197)};
  EXPECT_EQ(all.first_changed(), at(3));
  all.poison();
  EXPECT_EQ(all.first_changed(), nullptr);
  for (const std::size_t index : {196u, 100u, 3u}) {
    write(index);
    EXPECT_EQ(all.first_changed(), at(index));
  }
  EXPECT_EQ(poison_range{}.first_changed(), nullptr);
}

TEST_F(poison_ranges, reports_what_is_no_poison) {
  const poison_range all = {at(0), at(200)};
  all.poison();
  all.verify(200, this);
  write(99);
  ASHLAR_EXPECT_DEATH(all.verify(200, this),
                      "ashlar: corrupt_link: a free block was written to, pointer 0x*, resource 0x*, size 200");
}

}  // namespace
