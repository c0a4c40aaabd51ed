// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Predicates on texts for EXPECT_TRUE and EXPECT_FALSE: a failure prints the text and what was sought in it.
#pragma once

#include <regex>
#include <string>

#include <gtest/gtest.h>

namespace ashlar_test {

[[nodiscard]] inline testing::AssertionResult as_sought(bool holds, const std::string& sought,
                                                        const std::string& text) {
  return (holds ? testing::AssertionSuccess() : testing::AssertionFailure()) << '"' << sought << "\" in:\n" << text;
}

[[nodiscard]] inline testing::AssertionResult has(const std::string& text, const std::string& part) {
  return as_sought(text.find(part) != text.npos, part, text);
}
[[nodiscard]] inline testing::AssertionResult starts(const std::string& text, const std::string& part) {
  return as_sought(text.starts_with(part), part, text);
}
[[nodiscard]] inline testing::AssertionResult ends(const std::string& text, const std::string& part) {
  return as_sought(text.ends_with(part), part, text);
}
/// `pattern`: of a part of the text.
[[nodiscard]] inline testing::AssertionResult matches(const std::string& text, const std::string& pattern) {
  return as_sought(std::regex_search(text, std::regex(pattern)), pattern, text);
}

}  // namespace ashlar_test
