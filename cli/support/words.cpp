// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Quotes are as in the shell.
#include "cli/support/words.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <stdexcept>

namespace ashlar::cli {

namespace {

constexpr const char* blanks = " \t\n";
constexpr const char* of_the_shell = "|&;<>()$`\\*?[#~\n";

bool is_any_of(char c, const char* set) { return std::string(set).find(c) != std::string::npos; }

struct words_and_need {
  std::vector<std::string> words;
  bool needs_shell = false;
};

words_and_need split(const std::string& line) {
  words_and_need result;
  bool in_word = false;
  char quote = 0;
  for (const char c : line) {
    result.needs_shell = result.needs_shell || (quote != '\'' && is_any_of(c, of_the_shell));
    if (quote == 0 && is_any_of(c, blanks)) {
      in_word = false;
      continue;
    }
    if (!in_word) result.words.emplace_back();
    in_word = true;
    if (quote != 0 && c == quote) quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"')) quote = c;
    else result.words.back() += c;
  }
  if (quote != 0) throw std::invalid_argument("a quote is not closed: " + line);
  return result;
}

bool is_read_as_itself(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || is_any_of(static_cast<char>(c), "_-+=.,:/%@^");
  };
  return !word.empty() && std::all_of(word.begin(), word.end(), is_plain);
}

/// A variable in front of the program.
bool is_assignment(const std::string& word) { return word.find('=') != std::string::npos; }

/// Returns: the number of letters to insert, delete or replace.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> all;
  for (std::string& s : strings) all.push_back(s.data());
  all.push_back(nullptr);
  return all;
}

std::string quoted(const std::string& word) {
  std::string all = "'";
  for (const char c : word) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return all + "'";
}

std::string shell_word(const std::string& word) { return is_read_as_itself(word) ? word : quoted(word); }

std::string shell_line(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words)
    all += all.empty() && is_assignment(word) ? quoted(word) : (all.empty() ? "" : " ") + shell_word(word);
  return all;
}

std::vector<std::string> command_words(const std::string& line) {
  const words_and_need found = split(line);
  if (found.words.empty()) throw std::invalid_argument("an empty command");
  if (found.needs_shell || is_assignment(found.words.front())) return {"/bin/sh", "-c", line};
  return found.words;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  std::size_t least = word.size() / 3 + 1;  // a third of the letters may be wrong
  std::string nearest;
  for (const std::string& candidate : known) {
    const std::size_t d = distance(word, candidate);
    if (d > least || (d == least && !nearest.empty())) continue;
    least = d;
    nearest = candidate;
  }
  return nearest.empty() ? nearest : "; did you mean '" + nearest + "'?";
}

}  // namespace ashlar::cli
