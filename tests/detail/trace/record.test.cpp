// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a record's codes.
#include <ashlar/detail/trace/record.hpp>

#include <gtest/gtest.h>

namespace {

using namespace ashlar::trace;
using namespace ashlar::detail::trace_io;

TEST(record, alignments_round_trip) {
  EXPECT_EQ(alignment_of(alignment_code_of(0)), 0U);
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t alignment = std::uint64_t{1} << bit;
    EXPECT_EQ(alignment_of(alignment_code_of(alignment)), alignment);
  }
}

TEST(record, odd_alignments_count_as_the_next_power_of_two) {
  EXPECT_EQ(alignment_of(alignment_code_of(3)), 4U);
  EXPECT_EQ(alignment_of(alignment_code_of(24)), 32U);
  EXPECT_EQ(alignment_of(alignment_code_of((std::uint64_t{1} << 63) + 1)), std::uint64_t{1} << 63);
}

TEST(record, codes_carry_addresses_where_blocks_are_concerned) {
  EXPECT_TRUE(has_address(code_of(operation::malloc_)));
  EXPECT_TRUE(has_address(code_of(operation::delete_array_)));
  EXPECT_TRUE(has_address(opcode::realloc_begin));
  EXPECT_FALSE(has_address(code_of(operation::mark)));
  EXPECT_FALSE(has_address(opcode::thread_switch));
  EXPECT_TRUE(is_acquisition(code_of(operation::realloc_)));
  EXPECT_FALSE(is_acquisition(code_of(operation::free_)));
  EXPECT_FALSE(is_event(opcode::realloc_begin));
}

TEST(record, each_operation_has_a_code_of_its_own) {
  for (std::size_t i = 0; i < ashlar::trace::operation_count; ++i) {
    const auto op = static_cast<operation>(i);
    EXPECT_TRUE(is_event(code_of(op))) << name(op);
    EXPECT_EQ(operation_of(code_of(op)), op);
  }
  EXPECT_EQ(code_of(operation::thread_end), opcode{10});  // as in files that older versions wrote
  EXPECT_FALSE(is_event(opcode::thread_switch));
  EXPECT_FALSE(is_event(opcode::count));
}

}  // namespace
