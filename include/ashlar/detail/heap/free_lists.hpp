// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The free lists of a heap's thread cache: their sampled accounting, and their refill from cell batches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/cell_layout.hpp>
#include <ashlar/detail/heap/pair_stack.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/algorithm.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// One free list for each size class; list 0 stays empty.
using free_lists = pair_stacks<size_classes::count + 1>;

/// The bytes that one sampled address stands for, by size class.
inline constexpr auto sampled_bytes_of = [] {
  std::array<std::uint32_t, size_classes::count + 1> made{};
  for (std::size_t i = 1; i < made.size(); ++i) made[i] = static_cast<std::uint32_t>(bytes_per_sample(i));
  return made;
}();

/// Bytes of one free list: present by its sampled addresses, for each sampled address, and at most.
struct list_share {
  std::uint32_t bytes, each, most;
};
using list_shares = std::array<list_share, size_classes::count + 1>;

/// Returns: the shares of empty free lists, with limits of about 256 KiB and of `most_cells` cells each.
[[nodiscard]] inline list_shares no_cached_cells(std::size_t most_cells) noexcept {
  list_shares made{};
  for (std::size_t size_class = 1; size_class < made.size(); ++size_class) {
    const std::size_t cell = size_classes::bytes_of(size_class), most = std::size_t{256} * 1024 + 16 * cell;
    made[size_class] = {0, sampled_bytes_of[size_class],
                        static_cast<std::uint32_t>(detail::min(most / cell, most_cells) * cell)};
  }
  return made;
}

/// The cells that leave a batch together.
inline constexpr int cells_at_once = 8;

/// Effects: pushes the next cells of a batch onto a free list, at most `cells_at_once - 1`, the first one on top. Stops
/// before a sampled address, which must be counted. Expects: the list is empty.
inline void refill(cell_batch& word, std::size_t cell_bytes, std::size_t stack, free_lists& lists) noexcept {
  std::array<std::byte*, cells_at_once - 1> next;
  std::size_t cells = 0;
  while (cells < next.size() && word.mask != 0 && !is_sampled(word.next(cell_bytes)))
    next[cells++] = word.take(cell_bytes);
  while (cells != 0) lists.push(stack, next[--cells]);
}

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
