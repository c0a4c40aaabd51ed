// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: the cached cells, in one free list.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/segment.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

struct free_lists {
  void push(std::size_t, void* cell) noexcept {
    segment::of(cell)->below = top;
    top = segment::of(cell);
  }
  [[nodiscard]] segment* pop(std::size_t = 0) noexcept {
    segment* const cell = top;
    if (cell != nullptr) top = static_cast<segment*>(cell->below);
    return cell;
  }

  [[nodiscard]] bool is_empty(std::size_t) const noexcept { return static_cast<segment*>(top) == nullptr; }
  [[nodiscard]] void* top_of(std::size_t) const noexcept { return static_cast<segment*>(top); }
  void pop_top(std::size_t, void*) noexcept { static_cast<void>(pop()); }
  void clear() noexcept { top = nullptr; }

  segment::plain<segment*> top = nullptr;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
