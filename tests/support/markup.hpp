// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks of SVG and HTML: tags in pairs, attributes in quotes, no unescaped characters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar_test {

namespace detail {

// Returns: whether the text consists of ` name="value"` repeated.
inline bool are_attributes(std::string_view rest) {
  while (!rest.empty()) {
    const std::size_t equals = rest.find("=\""), end = equals == rest.npos ? equals : rest.find('"', equals + 2);
    if (rest[0] != ' ' || end == rest.npos || rest.substr(1, equals - 1).find_first_of(" <\"'=") != rest.npos)
      return false;
    rest.remove_prefix(end + 1);
  }
  return true;
}

// Style sheets are not checked: they lie between the same two tags in XML and HTML.
inline bool is_text(std::string_view text) { return text.find_first_of("&>") == text.npos; }

}  // namespace detail

/// Returns: the fault of the markup; empty if it is well-formed. `<meta>` and the doctype need no end.
[[nodiscard]] inline std::string fault_of_markup(std::string_view rest) {
  std::vector<std::string> open;
  for (std::size_t at = 0; (at = rest.find('<')) != rest.npos;) {
    const std::size_t end = rest.find('>', at);
    if (end == rest.npos) return "a tag without an end";
    if (!detail::is_text(rest.substr(0, at)) && (open.empty() || open.back() != "style")) return "unescaped text";
    std::string_view tag = rest.substr(at + 1, end - at - 1);
    rest.remove_prefix(end + 1);
    if (tag[0] == '!' || tag.substr(0, 4) == "meta") continue;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "an end that belongs to nothing: " + std::string(tag);
      open.pop_back();
      continue;
    }
    const bool is_alone = tag.back() == '/';
    if (is_alone) tag.remove_suffix(1);
    const std::size_t name = std::min(tag.find(' '), tag.size());
    if (!detail::are_attributes(tag.substr(name))) return "attributes: " + std::string(tag);
    if (!is_alone) open.emplace_back(tag.substr(0, name));
  }
  return open.empty() ? "" : "no end of " + open.back();
}

/// Returns: the number of `words` in `text`.
[[nodiscard]] inline std::size_t count_of(std::string_view text, std::string_view words) {
  std::size_t count = 0;
  for (std::size_t at = text.find(words); at != text.npos; at = text.find(words, at + words.size())) ++count;
  return count;
}

}  // namespace ashlar_test
