// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A buffered text writer over a text sink: words, numbers, addresses, human-readable sizes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// `out(text)` consumes a piece of text, which is valid only during the call.
template <class Out>
concept text_sink = std::invocable<Out&, std::string_view>;

/// Buffers text and passes it to `out` in pieces of at most `capacity` characters; `flush` passes the last one.
/// Allocates nothing and ignores locales. Throws: any exception of `out`, after which the buffered text is lost.
template <text_sink Out>
class text_writer {
public:
  static constexpr std::size_t capacity = 512;  ///< characters

  /// Expects: `out` outlives the writer.
  explicit text_writer(Out& out) noexcept : out_(out) {}
  text_writer(const text_writer&) = delete;
  text_writer& operator=(const text_writer&) = delete;

  text_writer& text(std::string_view words) {
    while (!words.empty()) {
      if (size_ == capacity) flush();
      const std::size_t piece = detail::min(words.size(), capacity - size_);
      std::memcpy(data_ + size_, words.data(), piece);  // `copy` needs the C++ library, for an exception
      size_ += piece;
      words.remove_prefix(piece);
    }
    return *this;
  }

  ASHLAR_INLINE_FOR_SPEED text_writer& text(const char* words) { return text(std::string_view(words)); }

  text_writer& number(std::integral auto value) {
    if constexpr (std::signed_integral<decltype(value)>)
      if (value < 0) return text("-").template digits<10>(0 - static_cast<std::uint64_t>(value));
    return digits<10>(static_cast<std::uint64_t>(value));
  }

  text_writer& hex(std::uint64_t value) { return digits<16>(value); }

  text_writer& address(const void* p) { return text("0x").hex(address_of(p)); }

  /// Effects: writes the number with a comma before every three digits: 1,234,567.
  text_writer& grouped(std::uint64_t value) {
    if (value < 1000) return number(value);
    return grouped(value / 1000).text(",").number(value / 100 % 10).number(value / 10 % 10).number(value % 10);
  }

  /// Effects: writes the grouped number and its noun: 1 block, 2,000 blocks.
  text_writer& counted(std::uint64_t value, std::string_view noun) {
    grouped(value).text(" ").text(noun);
    return value == 1 ? *this : text("s");
  }

  /// Effects: writes a number of bytes with three digits and a unit: 48 B, 1.50 KiB, 12.0 MiB, 310 GiB.
  text_writer& size(std::uint64_t bytes) {
    if (bytes < 1000) return number(bytes).text(" B");
    unsigned unit = 1;
    for (; unit < 5 && hundredths_of(bytes, unit) >= 99'950; ++unit) {
    }
    hundredths(hundredths_of(bytes, unit));
    return text(" ").text({&"KMGTP"[unit - 1], 1}).text("iB");
  }

  /// Effects: writes `part` of `whole` in percent, with one decimal if it is below ten: 0 %, 0.0 %, 2.5 %, 97 %.
  text_writer& percentage(std::uint64_t part, std::uint64_t whole) {
    for (; part >= std::uint64_t{1} << 50; part /= 2) whole /= 2;  // else the product below could overflow
    const std::uint64_t tenths = whole == 0 ? 0 : (part * 1000 + whole / 2) / whole;
    if (tenths >= 100 || part == 0) return number((tenths + 5) / 10).text(" %");
    return number(tenths / 10).text(".").number(tenths % 10).text(" %");
  }

  /// Effects: passes the buffered text to `out`.
  void flush() {
    const std::size_t size = size_;
    size_ = 0;
    if (size != 0) out_(std::string_view{data_, size});
  }

private:
  // Not `std::to_chars`, which is a kilobyte of code and tables.
  template <unsigned Base>
  text_writer& digits(std::uint64_t value) {
    char plain[20];  // 2^64 - 1 has twenty decimal digits
    char* at = plain + sizeof plain;
    do {
      *--at = "0123456789abcdef"[value % Base];
      value /= Base;
    } while (value != 0);
    return text({at, static_cast<std::size_t>(plain + sizeof plain - at)});
  }

  // Returns: the size in hundredths of the unit, rounded to the nearest.
  [[nodiscard]] static std::uint64_t hundredths_of(std::uint64_t bytes, unsigned unit) noexcept {
    const unsigned shift = 10 * unit;
    const std::uint64_t below = bytes & ((std::uint64_t{1} << shift) - 1);
    return (bytes >> shift) * 100 + ((below * 100 + (std::uint64_t{1} << (shift - 1))) >> shift);
  }

  void hundredths(std::uint64_t value) {
    if (value >= 9995) return static_cast<void>(number((value + 50) / 100));
    if (value >= 1000) return static_cast<void>(number((value + 5) / 100).text(".").number((value + 5) / 10 % 10));
    number(value / 100).text(".").number(value / 10 % 10).number(value % 10);
  }

  Out& out_;
  std::size_t size_ = 0;
  char data_[capacity];
};

}  // namespace ashlar::ASHLAR_ABI::detail
