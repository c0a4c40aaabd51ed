// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The stacks of a heap's hot cells: what counts of what is on them, and how cells of a word come there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/cell_layout.hpp>
#include <ashlar/detail/heap/pair_stack.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// One stack of hot cells for each class; number 0 stays empty.
using hot_stacks = pair_stacks<size_classes::count + 1>;

/// How many bytes of a class a milestone stands for, by the class.
inline constexpr auto milestone_bytes_of = [] {
  std::array<std::uint32_t, size_classes::count + 1> made{};
  for (std::size_t i = 1; i < made.size(); ++i) made[i] = static_cast<std::uint32_t>(bytes_per_milestone(i));
  return made;
}();

/// What is on the stack of a class, by its milestones; what one stands for; what the stack may have.
struct hot_share {
  std::uint32_t bytes, each, most;
};
using hot_shares = std::array<hot_share, size_classes::count + 1>;

/// Returns: shares of empty stacks that may have 256 KiB or so each, and `most_cells` at most.
[[nodiscard]] inline hot_shares no_hot_cells(std::size_t most_cells) noexcept {
  hot_shares made{};
  for (std::size_t number = 1; number < made.size(); ++number) {
    const std::size_t cell = size_classes::bytes_of(number), most = std::size_t{256} * 1024 + 16 * cell;
    made[number] = {0, milestone_bytes_of[number],
                    static_cast<std::uint32_t>(std::min(most / cell, most_cells) * cell)};
  }
  return made;
}

/// So many cells of a word leave it together.
inline constexpr int cells_at_once = 8;

/// Effects: puts the next cells of a word on a stack, one less than `cells_at_once` at most, the next one uppermost.
/// Not one that is a milestone: it would have to be counted. Expects: the stack is empty.
inline void heat(taken_cells& word, std::size_t cell_bytes, std::size_t stack, hot_stacks& hot) noexcept {
  std::array<std::byte*, cells_at_once - 1> next;
  std::size_t cells = 0;
  while (cells < next.size() && word.mask != 0 && !is_milestone(word.next(cell_bytes)))
    next[cells++] = word.take(cell_bytes);
  while (cells != 0) hot.push(stack, next[--cells]);
}

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
