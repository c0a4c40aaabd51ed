// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of one heap, that of the process or one that is an object: without a decision, a sample or a count.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "malloc/heaps.hpp"

namespace ashlar::drop_in {

/// Bytes of the largest request: no program has as many addresses. Larger requests are refused without being tried.
inline constexpr std::size_t most_bytes = std::size_t{1} << 48;
/// The largest alignment: no address of a program is a multiple of the next one.
inline constexpr std::size_t most_alignment = std::size_t{1} << 47;
inline constexpr std::size_t granule = detail::size_classes::granule;  ///< bytes: the alignment of each block
inline constexpr std::size_t largest_cell = detail::size_classes::largest;

inline constexpr std::size_t zeroed = 1;  ///< a bit of `request::alignment`: the requested bytes are zero

/// A request; in two registers, so that a function that serves it can be called last.
struct request {
  std::size_t bytes;
  std::size_t alignment;  ///< at least a granule, with `zeroed` or without; or `zeroed` alone, which is at a granule
};
[[nodiscard]] constexpr request aligned(std::size_t bytes, std::size_t alignment) noexcept {
  return {bytes, detail::max(alignment, granule)};
}

/// Effects: sets errno. Returns: null.
[[nodiscard]] ASHLAR_COLD inline void* refuse(int error) noexcept {
  errno = error;
  return nullptr;
}
/// As `refuse(ENOMEM)`, with the report that the options want of the limit `max`: to the kept error stream, once, the
/// sizes of blocks with the most live bytes, then, with a heap profile, the stacks; nothing if the system has refused
/// the request, not the limit. Allocates nothing. Expects: no lock of the heap is held. Complexity: O(slices and cells
/// on free lists).
[[nodiscard]] void* refuse_memory(std::size_t bytes) noexcept;
[[nodiscard]] ASHLAR_INLINE void* or_refused(void* p, std::size_t bytes) noexcept {
  return ASHLAR_LIKELY(p != nullptr) ? p : refuse_memory(bytes);
}

/// Effects: calls `f(heap)`; null is the heap of the process.
template <class F>
ASHLAR_INLINE auto in_heap(ashlar_heap* heap, F f) noexcept {
  return heap != nullptr ? f(*heap) : f(process_heap());
}
/// Returns: the heap of a block; null: the process heap.
[[nodiscard]] ASHLAR_INLINE ashlar_heap* object_of(const void* p) noexcept {
  return has_heaps() ? heap_of_block(p) : nullptr;
}

/// @{ Returns: a block of the heap, cleared too if the options have it so; null without memory. The second one: with
/// errno ENOMEM. Expects: `bytes <= most_bytes`.
[[nodiscard]] void* take(ashlar_heap* from, request wanted) noexcept;
[[nodiscard]] void* take_or_refused(ashlar_heap* from, request wanted) noexcept;
/// @}
/// Returns: a block of that size with the contents of `p`; `p` itself where a smaller one needs memory and finds none;
/// null without memory. What the block has grown by is zero if the options have it so.
[[nodiscard]] void* resize(ashlar_heap* in, void* p, request wanted) noexcept;
/// As `resize`, in the heap of the block, with errno ENOMEM.
[[nodiscard]] void* resize_or_refused(void* p, request wanted) noexcept;
/// Returns: as `try_resize` of the heap.
[[nodiscard]] bool resize_in_place(ashlar_heap* in, void* p, std::size_t bytes) noexcept;
[[nodiscard]] std::size_t usable_in(ashlar_heap* heap, const void* p) noexcept;

/// Effects: frees a block of the heap.
void give(ashlar_heap* to, void* p) noexcept;
/// Effects: moves a block of `had` bytes of the heap to the new one at `moved`, of `bytes` bytes. Returns: `moved`.
void* move_to(void* moved, std::size_t bytes, ashlar_heap* from, void* p, std::size_t had) noexcept;

}  // namespace ashlar::drop_in
