// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a free cell is told to the owner of its segment: the word of its slab's bitmap as one number, and its bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/remote_free/packet.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Returns: where the slab of a cell starts. Expects: `cell` is a live cell. What is read stays as it is while the cell
/// lives, so any thread may ask that has it.
[[nodiscard]] ASHLAR_INLINE const remote_free_info& place_of_cell(void* cell) noexcept {
  return segment::of(cell)->remote_free_infos[segment::slice_of(cell)];
}

/// Returns: the key of a cell's word and the cell's bit in it.
///
///   key: | the segment's address | 0 … | first slice of the slab: 6 bits | word: 6 bits |
///
/// Expects: `place` is that of its slab.
[[nodiscard]] ASHLAR_INLINE freed_word word_of_cell(void* cell, const remote_free_info& place) noexcept {
  const std::uint32_t index = place.index_of(address_of(cell) % segment_bytes);
  return {address_of(segment::of(cell)) + place.first_word + index / 64, std::uint64_t{1} << (index % 64)};
}

/// As above. Expects: as `place_of_cell`.
[[nodiscard]] ASHLAR_INLINE freed_word word_of_cell(void* cell) noexcept {
  return word_of_cell(cell, place_of_cell(cell));
}

/// Returns: the segment that a key is of.
[[nodiscard]] ASHLAR_INLINE segment& segment_of_key(std::uintptr_t key) noexcept {
  return *reinterpret_cast<segment*>(key - key % segment_bytes);
}

/// Returns: the slab that a key is of.
[[nodiscard]] ASHLAR_INLINE span_header& slab_of_key(std::uintptr_t key) noexcept {
  return segment_of_key(key).record(key % segment_bytes / words_per_slab);
}

/// Returns: the word of the slab's bitmap that a key names.
[[nodiscard]] ASHLAR_INLINE std::size_t word_of_key(std::uintptr_t key) noexcept { return key % words_per_slab; }

static_assert(slices_per_segment * words_per_slab <= segment_bytes);

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
