// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The stacks of a heap's hot cells: what counts of what is on them, and how cells of a word come there.
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

/// One stack of hot cells for each class; number 0 stays empty.
using free_lists = pair_stacks<size_classes::count + 1>;

/// How many bytes of a class a sampled address stands for, by the class.
inline constexpr auto sampled_bytes_of = [] {
  std::array<std::uint32_t, size_classes::count + 1> made{};
  for (std::size_t i = 1; i < made.size(); ++i) made[i] = static_cast<std::uint32_t>(bytes_per_sample(i));
  return made;
}();

/// What is on the stack of a class, by its sampled addresses; what one stands for; what the stack may have.
struct list_share {
  std::uint32_t bytes, each, most;
};
using list_shares = std::array<list_share, size_classes::count + 1>;

/// Returns: shares of empty stacks that may have 256 KiB or so each, and `most_cells` at most.
[[nodiscard]] inline list_shares no_cached_cells(std::size_t most_cells) noexcept {
  list_shares made{};
  for (std::size_t size_class = 1; size_class < made.size(); ++size_class) {
    const std::size_t cell = size_classes::bytes_of(size_class), most = std::size_t{256} * 1024 + 16 * cell;
    made[size_class] = {0, sampled_bytes_of[size_class],
                        static_cast<std::uint32_t>(detail::min(most / cell, most_cells) * cell)};
  }
  return made;
}

/// So many cells of a word leave it together.
inline constexpr int cells_at_once = 8;

/// Effects: puts the next cells of a word on a stack, one less than `cells_at_once` at most, the next one uppermost.
/// Not one that is a sampled address: it would have to be counted. Expects: the stack is empty.
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
