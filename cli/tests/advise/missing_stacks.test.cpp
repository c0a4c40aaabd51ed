// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the sentence on allocations without a call stack: its grammar, and the cause that it names.
#include "cli/advise/missing_stacks.hpp"

#include <gtest/gtest.h>

namespace {

using ashlar::cli::missing_stacks;

TEST(missing_stacks, counts_in_english) {
  const std::string why =
      "the recorder could not unwind the program there: before its start, or over a C library without an unwinder.";
  EXPECT_EQ(missing_stacks({.without = 0, .allocations = 0}), "");
  EXPECT_EQ(missing_stacks({.without = 1, .allocations = 100}), "");
  EXPECT_EQ(missing_stacks({.without = 1, .allocations = 99}),
            "1 of 99 allocations has no call stack, and cannot be advised on: " + why);
  EXPECT_EQ(missing_stacks({.without = 1'234, .allocations = 2'000}),
            "1,234 of 2,000 allocations have no call stacks, and cannot be advised on: " + why);
  EXPECT_EQ(missing_stacks({.without = 1, .allocations = 1}),
            "No allocation has a call stack, so there are no call sites to advise on: " + why);
}

TEST(missing_stacks, names_the_cause) {
  const auto says = [](const ashlar::cli::stack_counts& counts, const char* words) {
    return missing_stacks(counts).find(words) != std::string::npos;
  };
  EXPECT_TRUE(says({.unasked = {"a.trace"}, .without = 5, .allocations = 9},
                   ": a.trace was recorded without stacks; `ashlar record --stacks 16` has them."));
  EXPECT_TRUE(says({.unasked = {"a.trace", "b.trace"}, .without = 9, .allocations = 9},
                   ": 2 traces were recorded without stacks; `ashlar record --stacks 16` has them."));
  EXPECT_TRUE(says({.is_table_full = true, .without = 5, .allocations = 9},
                   ": a recorder keeps 786,432 different stacks, and the program has more."));
}

}  // namespace
