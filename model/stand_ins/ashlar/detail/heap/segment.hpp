// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: a segment of one cell, whose accesses are all observed.
#pragma once

#include <cstddef>

#include <checker.hpp>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/cell_layout.hpp>
#include <ashlar/detail/heap/page_map.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

inline constexpr std::size_t segment_bytes = window_bytes;
inline constexpr std::size_t slices_per_segment = segment_bytes / slice_bytes;

[[nodiscard]] constexpr std::size_t first_slice_at(std::size_t step) noexcept { return step; }
[[nodiscard]] constexpr std::size_t slices_of(std::size_t bytes) noexcept { return bytes / slice_bytes + 1; }

struct alignas(64) segment {
  template <class T>
  using plain = checker::atomics::plain<T>;

  struct header {
    plain<const void*> heap = nullptr;
  };

  [[nodiscard]] static segment* of(const void* p) noexcept { return static_cast<segment*>(const_cast<void*>(p)); }
  [[nodiscard]] static const void* heap_of(const void* p) noexcept { return of(p)->head.heap; }
  [[nodiscard]] static std::size_t owner_of(const void* p) noexcept { return of(p)->size_class; }

  inline static segment* first = nullptr;  // of all segments

  header head;                        // written before the cell is handed out, constant afterwards
  plain<std::size_t> size_class = 1;  // the same
  plain<int> content = 0;             // of its client
  plain<segment*> below = nullptr;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
