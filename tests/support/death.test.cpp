// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that a death is matched by its exact first line, except addresses.
#include "tests/support/death.hpp"

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/support/failures_of.hpp"

namespace {

using ashlar_test::failures_of;
using ashlar_test::first_line_of;

[[noreturn]] void die_saying(const char* words) {
  std::fputs(words, stderr);
  std::abort();
}

TEST(death, only_the_first_line_counts_and_addresses_do_not) {
  EXPECT_EQ(first_line_of("one\ntwo\n"), "one");
  EXPECT_EQ(first_line_of(""), "");
  EXPECT_EQ(first_line_of("pointer 0x7fff12aB, resource 0x1"), "pointer 0x*, resource 0x*");
  EXPECT_EQ(first_line_of("size 0"), "size 0");
}

TEST(death, the_whole_line_must_match) {
  ASHLAR_EXPECT_DEATH(die_saying("a 0xbeef b\nmore\n"), "a 0x* b");
  EXPECT_FALSE(failures_of([] { ASHLAR_EXPECT_DEATH(die_saying("some words\n"), "some"); }).empty());
  EXPECT_FALSE(failures_of([] { ASHLAR_EXPECT_DEATH(die_saying("some words\n"), "words"); }).empty());
}

TEST(death, a_statement_that_survives_is_a_failure) {
  EXPECT_FALSE(failures_of([] { ASHLAR_EXPECT_DEATH(static_cast<void>(std::fputs("x\n", stderr)), "x"); }).empty());
  EXPECT_FALSE(failures_of([] { ASHLAR_EXPECT_DEATH((std::fputs("x\n", stderr), std::_Exit(1)), "x"); }).empty());
}

}  // namespace
