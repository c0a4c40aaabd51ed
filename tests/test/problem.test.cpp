// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of problems as values and as lines.
#include <ashlar/test/problem.hpp>

#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace {

using ashlar::test::problem;
using ashlar::test::problem_kind;

TEST(problem, describes_both_sides_where_they_are_known) {
  void* const p = reinterpret_cast<void*>(0xab0);
  const problem both{problem_kind::cross_free, p, {3, 8, 16, 1, nullptr}, {2, 8, 16, 2, nullptr}};
  EXPECT_EQ(describe(both),
            "ashlar: cross_free: freed through an allocator unequal to the one it came from, pointer 0xab0, "
            "allocated 3 x 8 bytes at alignment 16 by allocator 1, freed 2 x 8 bytes at alignment 16 by allocator 2");
  const problem leak{.kind = problem_kind::leak, .pointer = p, .allocated = {1, 4, 4, 9, nullptr}};
  EXPECT_EQ(describe(leak),
            "ashlar: leak: never freed, pointer 0xab0, allocated 1 x 4 bytes at alignment 4 by allocator 9");
  std::ostringstream out;
  out << leak;
  EXPECT_EQ(out.str(), describe(leak));
}

TEST(problem, every_kind_has_a_sentence_that_begins_with_its_name) {
  for (int kind = 0; kind <= static_cast<int>(problem_kind::leak); ++kind) {
    const auto sentence = sentence_of(static_cast<problem_kind>(kind));
    EXPECT_NE(sentence.find(": "), std::string::npos) << sentence;
  }
  EXPECT_EQ(sentence_of(static_cast<problem_kind>(99)), "problem");
}

}  // namespace
