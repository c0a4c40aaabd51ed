// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The name of a free cell for the owner of its segment: the bitmap word of its slab as one number, and its bit.
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

/// Returns: the remote free data of a cell's slab. Expects: `cell` is a live cell. The data is constant while the cell
/// lives, so any thread with the cell may call this.
[[nodiscard]] ASHLAR_INLINE const remote_free_info& place_of_cell(void* cell) noexcept {
  return segment::of(cell)->remote_free_infos[segment::slice_of(cell)];
}

/// Returns: the key of a cell's bitmap word, and the cell's bit in it.
///
///       key: | the segment's address | 0 … | first slice of the slab: 6 bits | word: 6 bits |
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

/// Returns: the segment of a key.
[[nodiscard]] ASHLAR_INLINE segment& segment_of_key(std::uintptr_t key) noexcept {
  return *reinterpret_cast<segment*>(key - key % segment_bytes);
}

/// Returns: the slab of a key.
[[nodiscard]] ASHLAR_INLINE span_header& slab_of_key(std::uintptr_t key) noexcept {
  return segment_of_key(key).record(key % segment_bytes / words_per_slab);
}

/// Returns: the index of a key's word in the bitmap of the slab.
[[nodiscard]] ASHLAR_INLINE std::size_t word_of_key(std::uintptr_t key) noexcept { return key % words_per_slab; }

static_assert(slices_per_segment * words_per_slab <= segment_bytes);

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
