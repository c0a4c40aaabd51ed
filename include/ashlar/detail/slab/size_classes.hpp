// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Size classes: exact up to 128 bytes, then eight per doubling and some extra ones; a table maps a size to its class.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Classes of `Granule`, 2 `Granule`, ... 128, 144, 160, ... 256, 288, ... 512, 576, ... `Largest` bytes, and of
/// `Extra` bytes between them.
///
///   size class  1     2    ...    n     n+1   n+2   ...   n+8   n+9  ...        count
///   bytes       g     2g   ...   128    144   160   ...   256   288  ...       Largest          n = 128 / g
///
/// Size classes count from 1, and 0 stands for "no class"; a table by class has `count + 1` entries.
/// Waste: a request of `b` bytes gets a cell of `c` bytes, where `c - b < Granule` up to 128 bytes and `c - b < b / 8`
/// above. That is at most 12.5 % of the request and 11.1 % of the cell; none if `b` is the size of a class.
/// Alignment: the class of a multiple of `a` is a multiple of `a`, for every power of two `a`. So all cells of a
/// request rounded up to its alignment are aligned if the first one is. The test proves both for all sizes.
template <std::size_t Granule, std::size_t Largest = 32 * 1024, std::size_t... Extra>
struct basic_size_classes {
  static_assert(is_power_of_two(Granule) && Granule >= 4 && Granule <= 16, "the exact classes end at 128, by steps");
  static_assert(is_power_of_two(Largest) && Largest >= 1024, "the last class ends a doubling");
  static_assert(Largest <= 32 * 1024, "the size of a class fits in two bytes");

  static constexpr std::size_t none = 0;           ///< no class
  static constexpr std::size_t granule = Granule;  ///< bytes of the smallest class, and the step of the exact ones
  static constexpr std::size_t exact = 128;        ///< in bytes: up to here every multiple of the granule is a class
  static constexpr std::size_t largest = Largest;  ///< bytes of the largest class
  static constexpr std::size_t per_doubling = 8;   ///< classes, above the exact ones and without the extra ones
  /// The number of classes, which is also the largest class.
  static constexpr std::size_t count =
      exact / Granule + per_doubling * static_cast<std::size_t>(std::bit_width(Largest / exact) - 1) + sizeof...(Extra);
  static_assert(count < 256, "a class is looked up in a table of bytes");

  /// Returns: the smallest class with room for `bytes`; the first one for 0. One load. Expects: `bytes <= largest`.
  [[nodiscard]] static ASHLAR_INLINE constexpr std::size_t of(std::size_t bytes) noexcept {
    return table[(bytes + Granule - 1) / Granule];
  }

  /// Bytes of the largest request that `of_small` takes.
  static constexpr std::size_t most_small = 1024;

  /// As `of`, in two instructions less by a table of 1 KiB. Expects: `bytes <= most_small`.
  [[nodiscard]] static ASHLAR_INLINE constexpr std::size_t of_small(std::size_t bytes) noexcept {
    return small_table[bytes];
  }

  /// Returns: the smallest class with room for `bytes` and a size that is a multiple of `alignment`.
  /// Expects: `bytes <= largest`, `alignment` is a power of two and at most `largest`.
  [[nodiscard]] static ASHLAR_INLINE constexpr std::size_t of(std::size_t bytes, std::size_t alignment) noexcept {
    return of(align_up(bytes + (bytes == 0), alignment));  // 0 is a multiple of all alignments, but still needs a cell
  }

  /// Returns: the cell size of a class. One load. Expects: `1 <= size_class <= count`.
  [[nodiscard]] static constexpr std::size_t bytes_of(std::size_t size_class) noexcept { return sizes[size_class]; }

  /// Returns: the largest power of two up to `most` that divides the size of a class. Its cells have this alignment if
  /// the first one has.
  [[nodiscard]] static constexpr std::size_t alignment_of(std::size_t size_class, std::size_t most = Largest) noexcept {
    const std::size_t bytes = bytes_of(size_class);
    return detail::min(bytes & (0 - bytes), most);
  }

  /// Returns: the cell size of a request. Expects: as `of`.
  [[nodiscard]] static constexpr std::size_t rounded(std::size_t bytes, std::size_t alignment = 1) noexcept {
    return bytes_of(of(bytes, alignment));
  }

private:
  // Returns: the size of the class after the class of `bytes`.
  [[nodiscard]] static constexpr std::size_t after(std::size_t bytes) noexcept {
    const std::size_t step = bytes < exact ? Granule : std::bit_floor(bytes) / per_doubling;
    std::size_t next = align_down(bytes + step, step);
    ((next = bytes < Extra ? detail::min(next, Extra) : next), ...);
    return next;
  }
  [[nodiscard]] static constexpr auto make_sizes() noexcept {
    std::array<std::uint16_t, count + 1> made{};
    for (std::size_t i = 1; i < made.size(); ++i) made[i] = static_cast<std::uint16_t>(after(made[i - 1]));
    return made;
  }
  static constexpr std::array<std::uint16_t, count + 1> sizes = make_sizes();

  template <std::size_t Step, std::size_t Most>
  [[nodiscard]] static constexpr auto make_table() noexcept {
    std::array<std::uint8_t, Most / Step + 1> made{};
    std::size_t size_class = 1;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (i * Step > sizes[size_class]) ++size_class;
      made[i] = static_cast<std::uint8_t>(size_class);
    }
    return made;
  }

  alignas(64) static constexpr std::array<std::uint8_t, Largest / Granule + 1> table = make_table<Granule, Largest>();
  alignas(64) static constexpr std::array<std::uint8_t, most_small + 1> small_table = make_table<1, most_small>();
};

/// For heaps with all blocks aligned to 16 bytes: 76 classes, a table of 2049 bytes. Programs often ask for a power of
/// two and a header: 1032 bytes get 1040 and not 1152, 8224 bytes no more than that. 15 cells of 4368 bytes fill a
/// slice of 64 KiB; such pages of SQLite would lie 14 to a slice in the next class. The class of 4352 bytes keeps the
/// alignment of multiples of 256.
using size_classes = basic_size_classes<16, 32 * 1024, 1040, 4352, 4368, 8224>;
/// For pools of typed objects, with common sizes of 24 or 40 bytes: 80 classes, a table of 4097 bytes.
using fine_size_classes = basic_size_classes<8>;

static_assert(size_classes::count == 76 && fine_size_classes::count == 80);

}  // namespace ashlar::ASHLAR_ABI::detail
