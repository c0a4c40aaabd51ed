// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: a word has one cell, and its key is the index of the cell.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/remote_free/packet.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

// The keys of the first eight cells have separate slots of the batcher; that of the next one shares the first one's.
inline constexpr std::uintptr_t cells_apart = 8;
inline constexpr std::uintptr_t keys_between = 47;

[[nodiscard]] inline freed_word word_of_cell(void* cell) noexcept {
  const auto index = static_cast<std::uintptr_t>(segment::of(cell) - segment::first);
  return {1 + index + (index < cells_apart ? 0 : keys_between), 1};
}
// Each has the same weight.
struct remote_free_info {
  std::size_t cell_bytes = 16;
};
inline constexpr remote_free_info only_slab;
[[nodiscard]] inline const remote_free_info& place_of_cell(void*) noexcept { return only_slab; }
[[nodiscard]] inline freed_word word_of_cell(void* cell, const remote_free_info&) noexcept {
  return word_of_cell(cell);
}

[[nodiscard]] inline segment& segment_of_key(std::uintptr_t key) noexcept {
  return segment::first[key - 1 - (key - 1 < cells_apart ? 0 : keys_between)];
}

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
