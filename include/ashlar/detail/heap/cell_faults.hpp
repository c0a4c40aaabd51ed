// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The texts of reports about blocks, and the reports about cells that no look-up precedes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/thread_cache.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The report texts for one kind of use of a block.
struct block_use {
  const char *foreign, *of_other_heap, *of_pool, *of_head, *inside, *dead, *size, *alignment;
};

inline constexpr block_use freeing_block = {.foreign = "freed a pointer that is not of this heap",
                                            .of_other_heap = "freed a block of another heap",
                                            .of_pool = "freed a cell of a pool",
                                            .of_head = "freed a pointer into the heap's own metadata",
                                            .inside = "freed a pointer into the middle of a block",
                                            .dead = "freed a block that is free",
                                            .size = "freed a block with another size than it was allocated with",
                                            .alignment =
                                                "freed a block with another alignment than it was allocated with"};
inline constexpr block_use using_block = {.foreign = "used a pointer that is not of this heap",
                                          .of_other_heap = "used a block of another heap",
                                          .of_pool = "used a cell of a pool",
                                          .of_head = "used a pointer into the heap's own metadata",
                                          .inside = "used a pointer into the middle of a block",
                                          .dead = "used a block that is free",
                                          .size = "used a block with another size than it was allocated with",
                                          .alignment =
                                              "used a block with another alignment than it was allocated with"};

/// Effects: reports a double free of a cell. Every level detects it, at the cost of one AND a bitmap word. Expects: the
/// slab is unchanged.
[[noreturn]] ASHLAR_COLD inline void report_twice(const void* cell, const void* heap) noexcept {
  report({.kind = fault::double_free, .what = freeing_block.dead, .pointer = cell, .resource = heap});
}

/// As above, for the first cell of the mask `twice` in a bitmap word; nothing for an empty mask.
ASHLAR_INLINE void expect_none_twice(const span_header& slab, std::size_t word, std::uint64_t twice,
                                     const void* heap) noexcept {
  if (ASHLAR_UNLIKELY(twice != 0)) report_twice(slab.cell(word * 64 + first_bit(twice)), heap);
}

/// Effects: reports a cell on a free list whose link is corrupt, before the link is followed. No effect except at level
/// `checked`.
ASHLAR_INLINE void expect_link([[maybe_unused]] const void* cell, [[maybe_unused]] std::size_t size_class,
                               [[maybe_unused]] const void* heap) noexcept {
  if constexpr (thread_cache::seals_links)
    if (ASHLAR_UNLIKELY(!thread_cache::is_sound(cell))) report_poison(cell, size_classes::bytes_of(size_class), heap);
}

/// Returns: a cell removed from a list, or null. Effects: as `expect_link`.
[[nodiscard]] ASHLAR_INLINE void* pop_sound(thread_cache::linked_cells& list, std::size_t size_class,
                                            const void* heap) noexcept {
  if (list.top != nullptr) expect_link(list.top, size_class, heap);
  void* const cell = list.pop();
  if (cell != nullptr) mark_free(cell, thread_cache::link_bytes);
  return cell;
}

}  // namespace ashlar::ASHLAR_ABI::detail
