// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far a write at an address may go in a guarded heap: to the requested end of the live block around it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/exact_sizes.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/span_guards.hpp>
#include <ashlar/detail/slab/size_classes.hpp>

namespace ashlar::ASHLAR_ABI::detail {

[[nodiscard]] inline std::size_t room_behind(const void* p, const void* block, std::size_t bytes) noexcept {
  const std::size_t at = address_of(p) - address_of(block);
  return bytes - detail::min(bytes, at);
}

// Returns: as `live_room`. Expects: `p` lies in a slab.
[[nodiscard]] inline std::size_t room_in_slab(void* p) noexcept {
  span_header& slab = segment::slab_of(p);
  if (address_of(p) < address_of(slab.cells)) return 0;
  const std::uint32_t index = slab.index_of(p);
  if (index >= slab.capacity) return 0;
  const std::uint16_t bytes = detail::sizes_in(slab)[index].load(memory_order_relaxed);
  return is_requested_size(bytes) ? detail::room_behind(p, slab.cell(index), bytes) : 0;
}

// As above, for a block of slices; `max_size` beside all blocks: in a guarded segment free slices are inaccessible, so
// that a write needs no other answer, and in one without guards it is not stopped.
[[nodiscard]] inline std::size_t room_in_span(segment& home, const void* p) noexcept {
  const std::size_t slice = segment::slice_of(p), first = home.record(slice).first;
  if (first < first_slice || first > slice) return max_size;
  const span_header& span = home.record(first);
  const bool is_block = !span.is_available && span.size_class == size_classes::none && first + span.length > slice;
  return is_block ? detail::room_behind(p, home.slice(first), span.cell_bytes) : max_size;
}

/// Returns: the bytes from `p` to the end of the live block around it; 0 in a slab or a head beside all live blocks;
/// `max_size` in free slices and outside of the segments of guarded heaps. Expects: level hardened. Complexity: a load
/// for the last of these; O(1). Thread safety: any thread, while no other one frees the block.
[[nodiscard]] ASHLAR_INLINE std::size_t live_room(const void* p) noexcept {
  if (ASHLAR_LIKELY(!guarded_windows<true>->has(p))) return max_size;
  void* const at = const_cast<void*>(p);
  if (segment::slice_of(p) < first_slice) return 0;  // the head
  return segment::size_class_of(at) != size_classes::none ? detail::room_in_slab(at)
                                                          : detail::room_in_span(*segment::of(at), p);
}

}  // namespace ashlar::ASHLAR_ABI::detail
