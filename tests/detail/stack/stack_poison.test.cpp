// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the poison at the top of a stack: the known dead bytes as the top moves up and down.
#include <ashlar/detail/stack/stack_poison.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/support/poison.hpp>

#include "tests/support/death.hpp"

namespace {

using poison = ashlar::detail::stack_poison<0, true>;

std::string line(std::size_t size) {
  return "ashlar: corrupt_link: a free block was written to, pointer 0x*, resource 0x*, size " + std::to_string(size);
}

class stack_poisons : public ::testing::Test {
protected:
  ~stack_poisons() override { ashlar::detail::mark_live(memory_.data(), memory_.size()); }

  std::byte* at(std::size_t index) { return memory_.data() + index; }
  void write(std::size_t index) {
    ashlar::detail::mark_readable(at(index), 1);
    memory_[index] ^= std::byte{1};
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(200'000);
  poison poison_;
};

TEST_F(stack_poisons, what_no_block_had_may_hold_anything) {
  write(10);
  poison_.take(at(0), at(100), this);
  poison_.verify(this);
}

TEST_F(stack_poisons, a_write_to_what_was_freed_is_seen_when_it_is_taken) {
  poison_.take(at(0), at(300), this);
  poison_.poison_above(at(200), at(300));
  poison_.poison_above(at(100), at(200));
  write(250);
  poison_.take(at(100), at(250), this);
  ASHLAR_EXPECT_DEATH(poison_.take(at(250), at(260), this), line(50));
  ASHLAR_EXPECT_DEATH(poison_.verify(this), line(50));
  ASHLAR_EXPECT_DEATH(poison_.leave(this), line(50));
}

TEST_F(stack_poisons, the_same_downwards) {
  poison_.take(at(100), at(400), this);
  poison_.poison_below(at(100), at(200));
  poison_.poison_below(at(200), at(300));
  write(150);
  poison_.take(at(151), at(300), this);
  ASHLAR_EXPECT_DEATH(poison_.take(at(140), at(151), this), line(51));
}

TEST_F(stack_poisons, the_other_end_takes_from_the_far_side) {
  poison_.poison_above(at(0), at(1000));
  poison_.take(at(900), at(1200), this);
  write(950);
  poison_.verify(this);
  write(899);
  ASHLAR_EXPECT_DEATH(poison_.take(at(800), at(900), this), line(900));
}

TEST_F(stack_poisons, of_much_the_bytes_next_to_the_top_are_poisoned) {
  poison_.poison_above(at(100), at(150'000));
  write(100 + poison::most_at_once);
  poison_.verify(this);
  write(99 + poison::most_at_once);
  ASHLAR_EXPECT_DEATH(poison_.verify(this), line(poison::most_at_once));
  poison_.poison_below(at(10'000), at(190'000));
  write(190'000 - poison::most_at_once - 1);
  poison_.verify(this);
  write(190'000 - poison::most_at_once);
  ASHLAR_EXPECT_DEATH(poison_.verify(this), line(poison::most_at_once));
}

TEST_F(stack_poisons, nothing_is_known_where_the_stack_goes) {
  poison_.poison_above(at(0), at(1000));
  poison_.leave(this);
  write(500);
  poison_.take(at(0), at(1000), this);
}

}  // namespace
