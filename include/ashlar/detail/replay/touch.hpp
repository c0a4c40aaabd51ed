// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Touches blocks as a program would, the same for every allocator, and detects blocks that other code wrote to.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A new block is written: one byte in every cache line of the first 4 KiB, then one byte in every page up to 64 MiB,
/// and the last byte of blocks up to that size. A zeroed block is read in the same places instead. A free reads the
/// first word.
///
/// The first word is a stamp: another value at the end of a block's life proves that two blocks overlapped.
class touch {
public:
  static constexpr std::size_t line = 64;
  static constexpr std::size_t dense = std::size_t{4} << 10;
  static constexpr std::size_t page = std::size_t{4} << 10;
  static constexpr std::size_t limit = std::size_t{64} << 20;

  /// Effects: writes `[from, size)`, and the stamp.
  static void write(void* block, std::size_t size, std::size_t from, std::uint64_t stamp) noexcept {
    auto* bytes = static_cast<volatile unsigned char*>(block);
    each_place(size, from, [bytes](std::size_t at) { bytes[at] = 1; });
    set_stamp(block, size, stamp);
  }

  /// Returns: whether every byte read was zero. Effects: then writes the stamp.
  [[nodiscard]] static bool read_zeroed(void* block, std::size_t size, std::uint64_t stamp) noexcept {
    const auto* bytes = static_cast<const volatile unsigned char*>(block);
    unsigned seen = 0;
    each_place(size, 0, [bytes, &seen](std::size_t at) { seen |= bytes[at]; });
    set_stamp(block, size, stamp);
    return seen == 0;
  }

  /// Returns: whether the block is unchanged. Blocks of less than 8 bytes carry no stamp: their first byte is read.
  [[nodiscard]] static bool read_first(const void* block, std::size_t size, std::uint64_t stamp) noexcept {
    if (size >= sizeof(std::uint64_t)) return *static_cast<const volatile std::uint64_t*>(block) == stamp;
    if (size != 0) static_cast<void>(*static_cast<const volatile unsigned char*>(block));
    return true;
  }

private:
  static void set_stamp(void* block, std::size_t size, std::uint64_t stamp) noexcept {
    if (size >= sizeof stamp) *static_cast<volatile std::uint64_t*>(block) = stamp;
  }

  template <class F>
  static void each_place(std::size_t size, std::size_t from, F&& f) noexcept {
    if (from >= size) return;
    const std::size_t dense_end = std::min(size, dense);
    const std::size_t sparse_end = std::min(size, limit);
    for (std::size_t at = from; at < dense_end; at += line) f(at);
    for (std::size_t at = std::max(from, dense); at < sparse_end; at += page) f(at);
    if (size <= limit) f(size - 1);
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
