// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Command lines as text and as words, and what a mistyped word may mean.
#pragma once

#include <string>
#include <vector>

namespace ashlar::cli {

/// Returns: the words with a blank between neighbours.
[[nodiscard]] std::string joined(const std::vector<std::string>& words);

/// Returns: the strings as a system call takes them.
[[nodiscard]] std::vector<char*> pointers(std::vector<std::string>& strings);

/// Returns: the word in quotes of the shell.
[[nodiscard]] std::string quoted(const std::string& word);

/// Returns: the word, in quotes if the shell would not read it as itself.
[[nodiscard]] std::string shell_word(const std::string& word);

/// Returns: the words as a user would type them, the first of which is no assignment.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

/// Returns: the words of a command line, at blanks outside quotes; or "/bin/sh", "-c" and the line, if it has a
/// character of the shell's own outside single quotes. So a program without a shell's help starts without a shell.
/// Throws: `std::invalid_argument` for an empty line or an open quote.
[[nodiscard]] std::vector<std::string> command_words(const std::string& line);

/// Returns: "; did you mean 'WORD'?" with the nearest of `known`, or nothing if none is near.
[[nodiscard]] std::string suggestion(const std::string& word, const std::vector<std::string>& known);

}  // namespace ashlar::cli
