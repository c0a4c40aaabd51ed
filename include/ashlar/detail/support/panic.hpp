// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end of a process after an error: one line on the error stream, composed without allocation, then abort.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/platform.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A line of at most `capacity` characters, built in place. Excess text is cut off. Its functions are not inlined,
/// since every message would hold copies of their loops: they took a tenth of the time to compile a pooled list.
class panic_line {
public:
  static constexpr std::size_t capacity = 512;  ///< characters

  ASHLAR_COLD panic_line& text(std::string_view words) noexcept {
    for (const char c : words) put(c);
    return *this;
  }

  // A call with a literal passes no length.
  ASHLAR_COLD panic_line& text(const char* words) noexcept {
    for (; *words != '\0'; ++words) put(*words);
    return *this;
  }

  ASHLAR_COLD panic_line& number(std::uint64_t value) noexcept { return digits(value, 10); }

  ASHLAR_COLD panic_line& address(const void* p) noexcept {
    return text("0x").digits(reinterpret_cast<std::uintptr_t>(p), 16);
  }

  [[nodiscard]] std::string_view view() const noexcept { return {data_, size_}; }

private:
  void put(char c) noexcept {
    if (size_ < capacity) data_[size_++] = c;
  }

  ASHLAR_COLD panic_line& digits(std::uint64_t value, std::uint64_t radix) noexcept {
    char reversed[20];  // 2^64 - 1 has twenty decimal digits
    std::size_t count = 0;
    do {
      reversed[count++] = "0123456789abcdef"[value % radix];
      value /= radix;
    } while (value != 0);
    while (count != 0) put(reversed[--count]);
    return *this;
  }

  char data_[capacity] = {};
  std::size_t size_ = 0;
};

/// Effects: writes the words and a newline to the error stream. Allocates nothing; a failed write is ignored, since no
/// other channel for the message exists.
ASHLAR_COLD inline void write_error_line(std::string_view words) noexcept {
  panic_line line;
  if (words.size() >= panic_line::capacity) words.remove_suffix(words.size() - panic_line::capacity + 1);
  write_error(line.text(words).text("\n").view());
}

/// Effects: writes the words as one line to the error stream and aborts.
[[noreturn]] ASHLAR_COLD inline void panic(std::string_view words) noexcept {
  write_error_line(words);
  end_process();
}

}  // namespace ashlar::ASHLAR_ABI::detail
