// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finished text is painted by its form: a heading has a rule or indented lines below, a verdict begins a line or a
// column.
#include "cli/support/terminal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <regex>
#include <string_view>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

enum class color_wish { automatic, always, never };
color_wish wished = color_wish::automatic;
bool has_progress = false;

bool is_colored(std::FILE* to) {
  if (wished != color_wish::automatic) return wished == color_wish::always;
  const char* const refused = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return (refused == nullptr || *refused == 0) && terminal != nullptr && terminal != std::string_view("dumb") &&
         ::isatty(::fileno(to)) != 0;
}

/// Returns: the columns of standard error, or of a page where the terminal does not tell.
std::size_t columns_of_terminal() {
  winsize found{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &found) == 0 && found.ws_col != 0 ? found.ws_col : page_width;
}

}  // namespace

bool choose_colors(const std::string& wish) {
  if (wish != "auto" && wish != "always" && wish != "never") return false;
  wished = wish == "auto" ? color_wish::automatic : wish == "always" ? color_wish::always : color_wish::never;
  return true;
}

std::string painted(const std::string& text, std::FILE* to) {
  if (!is_colored(to)) return text;
  struct paint {
    const char *pattern, *code;
  };
  static constexpr std::array<paint, 6> paints = {{{"(^|\n)([^\n]+)(?=\n─)", "1"},
                                                   {"(^|\n\n)(?!·| )([^\n]+)(?=\n +[^ ])", "1"},
                                                   {"(^|\n|  )([Gg]ain)(?=:|\n|$)", "32"},
                                                   {"(^|\n|  )([Ll]oss)(?=:|\n|$)", "31"},
                                                   {"(^|\n|  )([Ll]evel)(?=:|\n|$)", "36"},
                                                   {"(^|\n|  )([Uu]ndecided)(?=:|\n|$)", "33"}}};
  std::string all = text;
  for (const auto& [pattern, code] : paints)
    all = std::regex_replace(all, std::regex(pattern), fmt::format("$1\033[{}m$2\033[0m", code));
  return all;
}

void print_text(const std::string& text, std::FILE* to) {
  clear_progress();
  fmt::print(to, "{}", painted(text, to));
}

void print_error(const std::string& who, const std::string& message) {
  clear_progress();
  const bool is_red = is_colored(stderr);
  std::fprintf(stderr, "%s%s:%s %s\n", is_red ? "\033[1;31m" : "", who.c_str(), is_red ? "\033[0m" : "",
               printable(message).c_str());
}

void show_progress(const std::string& what, double seconds_left) {
  static const char* const kind = std::getenv("TERM");
  static const bool is_terminal = ::isatty(STDERR_FILENO) != 0 && kind != nullptr && kind != std::string_view("dumb");
  if (!is_terminal) return;
  has_progress = true;
  const double whole = std::ceil(seconds_left);
  const std::string time = whole < 120 ? fmt::format("{} s", whole) : human_time(1e9 * whole);
  const std::string left = whole == 0 ? "" : ", " + time + " left";
  const std::string line = shorten(what, page_width - 30) + left;
  const std::size_t room = std::max<std::size_t>(columns_of_terminal(), 8) - 3;  // brackets, and no full line
  std::fprintf(stderr, "\r\033[K[%s]", shorten(line, room).c_str());
}

void clear_progress() {
  if (std::exchange(has_progress, false)) std::fputs("\r\033[K", stderr);
}

}  // namespace ashlar::cli
