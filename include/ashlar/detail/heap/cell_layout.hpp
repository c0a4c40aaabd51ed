// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layout of the cells of a size class in a slab, and the sampled addresses among them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

inline constexpr std::size_t slice_bytes = std::size_t{64} * 1024;

/// A slab is the shortest span of slices that has room for four cells and leaves at most an eighth unused after the
/// last one. Slabs of one size class start their cells at different cache lines in turn, as far as alignment and room
/// allow: at one of `colours` offsets, multiples of `unit` bytes.
struct cell_layout {
  std::size_t cell_bytes, slices, unit, colours;

  [[nodiscard]] static constexpr cell_layout of(std::size_t size_class) noexcept {
    const std::size_t cell_bytes = size_classes::bytes_of(size_class);
    std::size_t slices = 1;
    while (!is_long_enough(slices * slice_bytes, cell_bytes)) ++slices;
    const std::size_t unit = detail::max<std::size_t>(64, size_classes::alignment_of(size_class));
    const std::size_t slack = detail::max<std::size_t>(slices * slice_bytes % cell_bytes, cell_bytes < 1024 ? 511 : 0);
    return {cell_bytes, slices, unit, slack / unit + 1};
  }

  [[nodiscard]] static constexpr bool is_long_enough(std::size_t room, std::size_t cell_bytes) noexcept {
    return room / cell_bytes >= 4 && room % cell_bytes <= room / 8;
  }

  /// Returns: bytes before the first cell of slab number `turn`. The first slab has the largest offset and the next one
  /// half of it: so the first cells of a size class with more than one colour are not sampled addresses, and of
  /// every two of its slabs one contains some.
  [[nodiscard]] constexpr std::size_t colour(std::size_t turn) const noexcept {
    const std::size_t place = turn % colours, half = place % 2 == 0 ? colours : colours / 2;
    return unit * (half - 1 - place / 2);
  }
  /// Returns: cells between the colour and the last `reserved` bytes.
  [[nodiscard]] constexpr std::size_t capacity(std::size_t colour, std::size_t reserved = 0) const noexcept {
    return (slices * slice_bytes - reserved - colour) / cell_bytes;
  }
};

/// A sampled address is null or lies in the first 256 bytes of a slice. Cells that start there are a small and fixed
/// share of the cells of each size class, so that counting them estimates the bytes of all. One test, the null check
/// included, lets all other cells pass. Blocks of whole slices all start at sampled addresses.
inline constexpr std::uintptr_t sampled_bits = 0xff00;
[[nodiscard]] ASHLAR_INLINE bool is_sampled(const void* p, std::uintptr_t bits = sampled_bits) noexcept {
  return (address_of(p) & bits) == 0;
}

/// Returns: bytes of its size class that a cell at a sampled address stands for, over slabs of all colours.
[[nodiscard]] constexpr std::size_t bytes_per_sample(std::size_t size_class) noexcept {
  const cell_layout layout = cell_layout::of(size_class);
  std::size_t samples = 0;
  for (std::size_t turn = 0; turn < layout.colours; ++turn) {
    const std::size_t colour = layout.colour(turn);
    const auto cells_before = [&](std::size_t end) {  // cells that start before `end`
      return end <= colour ? 0 : detail::min((end - colour - 1) / layout.cell_bytes + 1, layout.capacity(colour));
    };
    for (std::size_t slice = 0; slice < layout.slices; ++slice)
      samples += cells_before(slice * slice_bytes + 256) - cells_before(slice * slice_bytes);
  }
  return layout.colours * layout.slices * slice_bytes / samples;
}

}  // namespace ashlar::ASHLAR_ABI::detail
