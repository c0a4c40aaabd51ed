// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The size classes of a replay's block pools: multiples of 8 bytes up to 128, then eight classes for every doubling.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

inline constexpr std::size_t exact_replay_classes = 128;  // up to here one class for each multiple of 8

[[nodiscard]] constexpr std::size_t replay_class_of(std::size_t bytes) noexcept {
  if (bytes <= exact_replay_classes) return bytes == 0 ? 0 : (bytes - 1) / 8;
  const auto width = static_cast<std::size_t>(std::bit_width(bytes - 1));  // 8 from 129 to 256
  return exact_replay_classes / 8 + (width - 8) * 8 + ((bytes - 1) >> (width - 4)) - 8;
}

template <std::size_t Largest>
inline constexpr auto replay_class_table = [] {
  std::array<std::uint8_t, Largest / 8 + 1> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(replay_class_of(i * 8));
  return table;
}();

/// Sizes 8, 16, ... 128, 144, ... 256, 288, ... `largest`: a cell wastes at most an eighth of itself, or 7 bytes.
struct replay_classes {
  static constexpr std::size_t largest = 8192;
  static constexpr std::size_t count = replay_class_of(largest) + 1;
  static_assert(count <= 256, "a class is looked up in a table of bytes");

  /// Returns: the smallest class with room for `bytes`. Expects: `bytes <= largest`.
  [[nodiscard]] static ASHLAR_INLINE std::size_t of(std::size_t bytes) noexcept {
    return replay_class_table<largest>[(bytes + 7) / 8];
  }

  [[nodiscard]] static constexpr std::size_t cell_bytes(std::size_t index) noexcept {
    if (index < exact_replay_classes / 8) return (index + 1) * 8;
    const std::size_t above = index - exact_replay_classes / 8;
    return (above % 8 + 9) << (above / 8 + 4);
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
