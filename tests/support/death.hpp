// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Misuse must end the process with one exact sentence: a death test for the exact first line, not for a pattern.
#pragma once

#include <cctype>
#include <csignal>
#include <cstddef>
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

/// Matches output with this first line.
class first_line_is {
public:
  using is_gtest_matcher = void;

  explicit first_line_is(std::string line) : line_(std::move(line)) {}

  bool MatchAndExplain(const std::string& output, std::ostream*) const { return first_line_of(output) == line_; }
  void DescribeTo(std::ostream* out) const { *out << "first line is \"" << line_ << '"'; }
  void DescribeNegationTo(std::ostream* out) const { *out << "first line is not \"" << line_ << '"'; }

private:
  std::string line_;
};

}  // namespace ashlar_test

// Expects that the statement aborts after writing exactly `line` first. Addresses are written `0x*`.
#if defined(GTEST_HAS_DEATH_TEST)
#define ASHLAR_EXPECT_DEATH(statement, line)                 \
  EXPECT_EXIT(statement, ::testing::KilledBySignal(SIGABRT), \
              ::testing::Matcher<const std::string&>(::ashlar_test::first_line_is(line)))
#else
#define ASHLAR_EXPECT_DEATH(statement, line) static_cast<void>(0)
#endif
