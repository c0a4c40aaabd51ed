// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text for a terminal: colours, and a line about work in progress, which is erased before other text is printed.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace ashlar::cli {

struct stopwatch {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

/// Effects: "always" and "never" decide about colours; by "auto" a terminal has them, unless NO_COLOR is set or TERM is
/// "dumb". Returns: whether `wish` is one of these words.
bool choose_colors(const std::string& wish);

/// Returns: the finished text for people: on a terminal with headings in bold, and each verdict in its colour.
[[nodiscard]] std::string painted(const std::string& text, std::FILE* to = stdout);

/// Effects: prints the text, `painted`. Throws: `std::system_error`.
void print_text(const std::string& text, std::FILE* to = stdout);

/// Effects: prints "WHO: message" on standard error, WHO in red on a terminal, control characters escaped.
void print_error(const std::string& who, const std::string& message);

/// Effects: prints a line about the work in progress, if standard error is a terminal: with the time that is left,
/// unless that is 0. The next line replaces it.
void show_progress(const std::string& what, double seconds_left = 0);

/// Effects: erases the line.
void clear_progress();

}  // namespace ashlar::cli
