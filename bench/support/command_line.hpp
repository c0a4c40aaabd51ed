// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words and options of a bench's command line: `<word>... [--option N]...`, or `--cells`.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "json_object.hpp"
#include "preload.hpp"

namespace bench {

// Any member ends the process with the usage text if the command line is not as expected.
class command_line {
public:
  command_line(int argc, char** argv, std::string usage) : argv_(argv), usage_(std::move(usage)) {
    while (words_ + 1 < argc && std::strncmp(argv[words_ + 1], "--", 2) != 0) ++words_;
    options_ = argc - 1 - words_;
  }

  bool asks_for_cells() const { return words_ == 0 && options_ == 1 && std::strcmp(argv_[1], "--cells") == 0; }

  int words() const noexcept { return words_; }

  // Effects: ends the process unless there are exactly `count` words.
  void expect_words(int count) const {
    if (words_ != count) usage_error();
  }

  std::string_view word(int index) const {
    if (index >= words_) usage_error();
    return argv_[1 + index];
  }

  // Returns: the element of `range` with the word as its name.
  template <class Range, class Name>
  const auto& choice(int index, const Range& range, Name name) const {
    for (const auto& each : range)
      if (name(each) == word(index)) return each;
    usage_error();
  }

  template <class Rows>
  const auto& row(int index, const Rows& rows) const {
    return choice(index, rows, [](const auto& each) { return each.who.name; });
  }

  // Returns: N of `--option N`, or `otherwise` without the option.
  std::size_t number(std::string_view option, std::size_t otherwise, std::size_t least, std::size_t most) const {
    for (int i = 1 + words_; i < 1 + words_ + options_; i += 2)
      if (option == argv_[i]) return parsed(i + 1, option, least, most);
    return otherwise;
  }

  char** argv() const noexcept { return argv_; }

  [[noreturn]] void usage_error() const { fail(exit_usage, usage_); }

private:
  std::size_t parsed(int index, std::string_view option, std::size_t least, std::size_t most) const {
    std::size_t value = 0;
    if (index > words_ + options_) usage_error();
    const char* const end = argv_[index] + std::strlen(argv_[index]);
    const auto [stop, error] = std::from_chars(argv_[index], end, value);
    if (stop != end || error != std::errc{} || value < least || value > most)
      fail(exit_usage,
           std::string(option) + " wants a number from " + std::to_string(least) + " to " + std::to_string(most));
    return value;
  }

  char** argv_;
  std::string usage_;
  int words_ = 0;
  int options_ = 0;
};

template <class Rows>
std::string names_of(const Rows& rows) {
  std::string names;
  for (const auto& row : rows) names.append(" ").append(row.who.name);
  return names;
}

// Returns: the version of `malloc`, if it belongs to the peer; empty for peers that are compiled in.
inline std::string peer_version(std::string_view peer) {
  return find_malloc_library(peer) != nullptr ? malloc_version() : "";
}

// Effects: makes `malloc` the peer's, for which the process may start again: call it before any measurement.
// Returns: the part of the answer that identifies the peer.
inline json_object answer_of(std::string_view peer, char** argv) {
  const std::string malloc_name = choose_malloc(peer, argv);
  json_object answer;
  answer.text("peer", peer).text("malloc", malloc_name).text("malloc_version", peer_version(peer));
  return answer;
}

}  // namespace bench
