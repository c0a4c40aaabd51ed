// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: a segment of one cell, whose accesses are all observed.
#pragma once

#include <cstddef>
#include <cstdint>

#include <checker.hpp>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/cell_layout.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/remote_free/parcel.hpp>
#include <ashlar/detail/slab/size_classes.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

inline constexpr std::size_t segment_bytes = window_bytes;
inline constexpr std::size_t slices_per_segment = segment_bytes / slice_bytes;

[[nodiscard]] constexpr std::size_t first_slice_at(std::size_t step) noexcept { return step; }
[[nodiscard]] constexpr std::size_t slices_of(std::size_t bytes) noexcept { return bytes / slice_bytes + 1; }

struct alignas(64) segment {
  static constexpr std::uint32_t lanes = 4;

  template <class T>
  using plain = checker::atomics::plain<T>;

  struct header {
    plain<const void*> heap = nullptr;
    plain<std::uint32_t> lane = 0;
  };

  [[nodiscard]] static segment* of(const void* p) noexcept { return static_cast<segment*>(const_cast<void*>(p)); }
  [[nodiscard]] static const void* heap_of(const void* p) noexcept { return of(p)->head.heap; }
  [[nodiscard]] static std::size_t owner_of(const void* p) noexcept { return of(p)->size_class; }
  static void flip_live(const void*) noexcept {}

  static constexpr std::size_t cell_class = size_classes::of(3 * sizeof(parcel_carrier<>::word));

  // The cell: the words that a parcel uses, with stale values. As a carrier it lists one other.
  parcel_carrier<> words;
  parcel_carrier<>::word place = 1;

  header head;                                 // written before the cell is handed out, constant afterwards
  plain<std::size_t> size_class = cell_class;  // the same
  plain<int> content = 0;                      // of its client
  plain<segment*> below = nullptr;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
