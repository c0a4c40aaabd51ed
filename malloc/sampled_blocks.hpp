// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What malloc and its relatives do for sampled allocations, and for blocks of the pool of guarded ones.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/thread_cache.hpp>
#include <ashlar/detail/slab/size_classes.hpp>

#include "malloc/heap_blocks.hpp"

namespace ashlar::drop_in {

/// Returns: the allocations that a cell of the process heap stands for which the fast path did not find: at a sampled
/// address the calls of about 64 KiB of its size, else itself.
[[nodiscard]] ASHLAR_INLINE std::int32_t allocations_of_missed(void* cell) noexcept {
  if (ASHLAR_LIKELY(!detail::is_sampled(cell)) || cell == nullptr) return 1;
  const std::size_t size_class = detail::segment::size_class_of(cell);
  return static_cast<std::int32_t>(detail::sampled_bytes_of[size_class] / detail::size_classes::bytes_of(size_class));
}

/// The functions below are called last by those that they take the place of, or in a `caller_scope`: so their caller is
/// the one of malloc.
/// @{ After `way::sampled`. Returns: a block of the pool if the allocation is a sample, else as without.
[[nodiscard]] void* sample(request wanted) noexcept;
/// As `sample`, with a block that has been allocated already, or null.
[[nodiscard]] void* sample_missed(void* p, std::size_t bytes) noexcept;
[[nodiscard]] void* resize_sampled(void* p, request wanted) noexcept;
/// @}

/// After `way::profiled`. Returns: a block, which is in the profile if it is a sample.
[[nodiscard]] void* profile(request wanted) noexcept;
/// @{ As the functions of blocks.hpp, while there is a profile; a sized free of a block that is in it.
[[nodiscard]] void* resize_profiled(void* p, request wanted) noexcept;
void deallocate_profiled(void* p, std::size_t bytes) noexcept;
/// @}

/// @{ As the functions of blocks.hpp, for a block of the pool. Expects: `guard_pool::has(p)`.
void deallocate_guarded(void* p) noexcept;
void deallocate_guarded(void* p, std::size_t bytes) noexcept;
[[nodiscard]] void* resize_guarded(void* p, request wanted) noexcept;
/// @}

}  // namespace ashlar::drop_in
