// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Expectations about misuse: one exact sentence, an abort, and no code or output after it.
#pragma once

#include <cstdlib>
#include <ostream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/death.hpp"

namespace ashlar_test {

/// Matches output that is exactly this line. Addresses are written `0x*`.
class only_line_is {
public:
  using is_gtest_matcher = void;

  explicit only_line_is(std::string line) : line_(std::move(line)) {}

  bool MatchAndExplain(const std::string& output, std::ostream*) const {
    return first_line_of(output) == line_ && output.find('\n') + 1 == output.size();
  }
  void DescribeTo(std::ostream* out) const { *out << "is the line \"" << line_ << "\" alone"; }
  void DescribeNegationTo(std::ostream* out) const { *out << "is not the line \"" << line_ << "\" alone"; }

private:
  std::string line_;
};

}  // namespace ashlar_test

// Expects that the statement writes exactly `line` and aborts, and that no later statement runs.
#if defined(GTEST_HAS_DEATH_TEST)
#define ASHLAR_EXPECT_LAST_WORDS(statement, line)                             \
  EXPECT_EXIT((statement, std::_Exit(0)), ::testing::KilledBySignal(SIGABRT), \
              ::testing::Matcher<const std::string&>(::ashlar_test::only_line_is(line)))
#else
#define ASHLAR_EXPECT_LAST_WORDS(statement, line) static_cast<void>(0)
#endif
