// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Escapes are as in C.
#include "cli/support/printable.hpp"

#include <fmt/format.h>

namespace ashlar::cli {

namespace {

std::string escape(unsigned char c) {
  switch (c) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return fmt::format("\\x{:02x}", c);
  }
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr unsigned char first_of_two = 0xC2;  // in UTF-8
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (c == first_of_two && next >= 0x80 && next < 0xA0) {
      shown += fmt::format("\\u{:04x}", next);
      ++i;
    } else if (c < ' ' || c == 0x7F) {
      shown += escape(c);
    } else {
      shown += text[i];
    }
  }
  return shown;
}

}  // namespace ashlar::cli
