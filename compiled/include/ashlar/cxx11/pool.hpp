// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cells from the process-wide pool of their size, for C++11.
#pragma once

#include <cstddef>

#include <ashlar/cxx11/config.hpp>

namespace ashlar {
namespace cxx11 {
inline namespace ASHLAR_CORE_ABI {

/// The calls of one pool of the unit, which has those of up to 512 bytes. The linker names any other: for "undefined
/// reference to ashlar::cxx11::v1::ASHLAR_CORE_POOL<1056, 16>::allocate()" add the line
///
///     ASHLAR_CORE_POOL(1056, 16);
///
/// to a source of the program, compiled as C++20, that includes <ashlar/cxx11/define_pools.hpp>.
template <std::size_t CellBytes, std::size_t CellAlignment>
struct ASHLAR_CORE_API ASHLAR_CORE_POOL {
  static void* allocate();
  static void deallocate(void* cell) noexcept;
  static void flush() noexcept;
  static std::size_t held_bytes() noexcept;
};

/// Cells with room for `Bytes` bytes, aligned to `Alignment`. Sizes are rounded up, to multiples of 8 bytes and above
/// 256 of 32, so that few pools serve all types. Each thread has a cache. Pools are never destroyed. Complexity: O(1);
/// one call. Thread safety: any thread.
template <std::size_t Bytes, std::size_t Alignment = alignof(std::max_align_t)>
class pool {
  static_assert(Bytes != 0 && (Alignment & (Alignment - 1)) == 0, "an alignment is a power of two");
  static constexpr std::size_t step = Bytes > 256 ? 32 : 8;
  static constexpr std::size_t multiple = Alignment > step ? Alignment : step;

public:
  static constexpr std::size_t cell_bytes = (Bytes + multiple - 1) / multiple * multiple;
  static constexpr std::size_t cell_alignment = Alignment > 16 ? Alignment : cell_bytes % 16 == 0 ? 16 : 8;

  /// Throws: `std::bad_alloc`.
  static void* allocate() { return cells::allocate(); }
  /// Expects: `cell` came from `allocate` of the same pool.
  static void deallocate(void* cell) noexcept { cells::deallocate(cell); }
  /// Effects: gives back the cells that the calling thread caches.
  static void flush() noexcept { cells::flush(); }
  /// Returns: the bytes that the pool holds.
  static std::size_t held_bytes() noexcept { return cells::held_bytes(); }

private:
  using cells = ASHLAR_CORE_POOL<cell_bytes, cell_alignment>;
};

}  // namespace ASHLAR_CORE_ABI
}  // namespace cxx11
}  // namespace ashlar
