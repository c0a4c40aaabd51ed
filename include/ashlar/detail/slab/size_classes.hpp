// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Size classes: exact up to 128 bytes, then eight per doubling; a table maps a size to its class.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Classes of `Granule`, 2 `Granule`, ... 128, 144, 160, ... 256, 288, ... 512, 576, ... `Largest` bytes.
///
///   size class  1     2    ...    n     n+1   n+2   ...   n+8   n+9  ...        count
///   bytes       g     2g   ...   128    144   160   ...   256   288  ...       Largest          n = 128 / g
///
/// Size classes count from 1, and 0 stands for "no class"; a table by class has `count + 1` entries.
/// Waste: a request of `b` bytes gets a cell of `c` bytes, where `c - b < Granule` up to 128 bytes and `c - b < b / 8`
/// above. That is at most 12.5 % of the request and 11.1 % of the cell; none if `b` is the size of a class.
/// Alignment: the class of a multiple of `a` is a multiple of `a`, for every power of two `a`. So all cells of a
/// request rounded up to its alignment are aligned if the first one is. The test proves both for all sizes.
template <std::size_t Granule, std::size_t Largest = 32 * 1024>
struct basic_size_classes {
  static_assert(is_power_of_two(Granule) && Granule >= 4 && Granule <= 16, "the exact classes end at 128, by steps");
  static_assert(is_power_of_two(Largest) && Largest >= 1024, "the last class ends a doubling");

  static constexpr std::size_t none = 0;           ///< no class
  static constexpr std::size_t granule = Granule;  ///< bytes of the smallest class, and the step of the exact ones
  static constexpr std::size_t exact = 128;        ///< in bytes: up to here every multiple of the granule is a class
  static constexpr std::size_t largest = Largest;  ///< bytes of the largest class
  static constexpr std::size_t per_doubling = 8;   ///< classes, above the exact ones
  /// The number of classes, which is also the largest class.
  static constexpr std::size_t count =
      exact / Granule + per_doubling * static_cast<std::size_t>(std::bit_width(Largest / exact) - 1);
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

  /// Returns: the cell size of a class. Expects: `1 <= size_class <= count`. It is computed: keep the result if it is
  /// used often. There is no branch, since processors do not foresee sizes.
  [[nodiscard]] static constexpr std::size_t bytes_of(std::size_t size_class) noexcept {
    const std::size_t above = size_class - exact / Granule - 1;  // modulo 2^N; so is the shift, for an exact class
    const std::size_t doubled = (above % per_doubling + per_doubling + 1)
                                << ((above / per_doubling + first_shift) % 32);
    return size_class <= exact / Granule ? size_class * Granule : doubled;
  }

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
  // From 128 to 256 bytes the step is 16, that is 2^4.
  static constexpr std::size_t first_shift = 4;

  [[nodiscard]] static constexpr std::size_t computed(std::size_t bytes) noexcept {
    if (bytes <= exact) return detail::max<std::size_t>((bytes + Granule - 1) / Granule, 1);
    const auto doubling = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 8;  // 0 from 129 to 256 bytes
    return exact / Granule + doubling * per_doubling + ((bytes - 1) >> (doubling + first_shift)) - per_doubling + 1;
  }

  template <std::size_t Step, std::size_t Most>
  [[nodiscard]] static constexpr auto make_table() noexcept {
    std::array<std::uint8_t, Most / Step + 1> made{};
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::uint8_t>(computed(i * Step));
    return made;
  }

  alignas(64) static constexpr std::array<std::uint8_t, Largest / Granule + 1> table = make_table<Granule, Largest>();
  alignas(64) static constexpr std::array<std::uint8_t, most_small + 1> small_table = make_table<1, most_small>();
};

/// For heaps with all blocks aligned to 16 bytes: 72 classes, a table of 2049 bytes.
using size_classes = basic_size_classes<16>;
/// For pools of typed objects, with common sizes of 24 or 40 bytes: 80 classes, a table of 4097 bytes.
using fine_size_classes = basic_size_classes<8>;

static_assert(size_classes::count == 72 && fine_size_classes::count == 80);

}  // namespace ashlar::ASHLAR_ABI::detail
