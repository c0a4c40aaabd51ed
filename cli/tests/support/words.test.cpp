// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of command lines.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/support/words.hpp"

namespace {

using namespace ashlar::cli;

TEST(words, a_shell_line_has_quotes_where_the_shell_needs_them) {
  EXPECT_EQ(shell_line({"prog", "-o=a.txt", "/b/c_d", "50%"}), "prog -o=a.txt /b/c_d 50%");
  EXPECT_EQ(shell_line({"prog", "a b", "", "$x", "it's", "~", "*"}), "prog 'a b' '' '$x' 'it'\\''s' '~' '*'");
  EXPECT_EQ(shell_line({"a=b", "c=d"}), "'a=b' c=d") << "the first would be an assignment";
  EXPECT_EQ(shell_word("a=b"), "a=b");
  EXPECT_EQ(shell_line({"/bin/sh", "-c", "a | b"}), "/bin/sh -c 'a | b'");
}

TEST(words, a_shell_line_is_read_back) {
  const std::vector<std::string> words = {"prog", "a b", "c\td", "\"e\"", "|&;<>()`\\?[#", "f"};
  EXPECT_EQ(command_words(shell_line(words)), words);
}

}  // namespace
