// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Misuse must end the process with one exact sentence: a death test for the exact first line, not for a pattern.
#pragma once

#include <cctype>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <ostream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace ashlar_test {

/// Returns: the first line of `output`, with each address in it replaced by `0x*`.
inline std::string first_line_of(const std::string& output) {
  const std::string line = output.substr(0, output.find('\n'));
  std::string normal;
  for (std::size_t i = 0; i < line.size();) {
    normal += line[i++];
    if (!normal.ends_with("0x")) continue;
    normal += '*';
    while (i < line.size() && std::isxdigit(static_cast<unsigned char>(line[i])) != 0) ++i;
  }
  return normal;
}

/// Matches output with this first line; `alone`: with no other. Addresses are written `0x*`.
class first_line_is {
public:
  using is_gtest_matcher = void;

  explicit first_line_is(std::string line, bool alone = false) : line_(std::move(line)), is_alone_(alone) {}

  bool MatchAndExplain(const std::string& output, std::ostream*) const {
    return first_line_of(output) == line_ && (!is_alone_ || output.find('\n') + 1 == output.size());
  }
  void DescribeTo(std::ostream* out) const { *out << "is \"" << line_ << '"' << (is_alone_ ? " alone" : " first"); }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "not, ";
    DescribeTo(out);
  }

private:
  std::string line_;
  bool is_alone_;
};

}  // namespace ashlar_test

// Expects that the statement aborts after writing exactly `line` first. Addresses are written `0x*`.
#define ASHLAR_EXPECT_DEATH(statement, line) ASHLAR_EXPECT_ABORT(statement, line, false)
// Expects that the statement writes exactly `line` and aborts, and that no later statement runs.
#define ASHLAR_EXPECT_LAST_WORDS(statement, line) ASHLAR_EXPECT_ABORT((statement, std::_Exit(0)), line, true)
#if defined(GTEST_HAS_DEATH_TEST)
#define ASHLAR_EXPECT_ABORT(statement, line, alone)          \
  EXPECT_EXIT(statement, ::testing::KilledBySignal(SIGABRT), \
              ::testing::Matcher<const std::string&>(::ashlar_test::first_line_is(line, alone)))
#else
#define ASHLAR_EXPECT_ABORT(statement, line, alone) static_cast<void>(0)
#endif
