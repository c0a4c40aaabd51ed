// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks for malloc and its relatives: the fast paths of the process heap, in front of slow paths with errno, options
// and samples.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/thread_cache.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "malloc/heap_blocks.hpp"
#include "malloc/heap_profile.hpp"
#include "malloc/sampling.hpp"

namespace ashlar::drop_in {

/// The ends of two fast paths, of malloc itself and of all cells. Options and the default heaps of threads change them
/// under a lock, while other threads read them: words, not atomics, which clang compares by an instruction more. A call
/// that finds the former end is as one before the change.
struct fast_path_limits {
  /// Requests of this size and above take the next path; a request needs a comparison with some limit anyway. 0 while
  /// all of them need a decision: for cleared blocks, for the default heaps of threads, and before `start`.
  std::size_t end_of_small = 0;
  std::size_t end_of_cells = 0;  ///< the same, for the path after that
  /// @{ As `end_of_small`, and as the bits of sampled addresses, of new[] and delete[]: 0 where the program has
  /// replaced the new and delete that these stand for.
  std::size_t end_of_small_arrays = 0;
  std::uintptr_t sampled_bits_of_arrays = 0;
  /// @}
};
extern constinit ASHLAR_OF_THIS_LIBRARY fast_path_limits fast_paths;

/// Effects: adapts `fast_paths` to the options and heaps of now. Thread safety: any thread, after what it has changed.
void choose_fast_paths() noexcept;

/// What serves a request.
enum class way : std::uint8_t {
  plain,    ///< the default heap of the thread
  sampled,  ///< the pool of guarded blocks, if the request is a sample; else one of the others
  profiled  ///< a heap, with a note in the profile, if the request is a sample of that
};
/// Effects: counts the request. Returns: its way, which is decided here alone.
[[nodiscard]] ASHLAR_INLINE way decide(std::size_t bytes) noexcept {
  if (counts_down(1)) return way::sampled;
  return counts_bytes(bytes) ? way::profiled : way::plain;
}

/// Returns: a block, or null with errno ENOMEM.
[[nodiscard]] void* allocate(request wanted) noexcept;
/// As `allocate(bytes)`, where a request needs a decision.
[[nodiscard]] void* allocate_slow(std::size_t bytes) noexcept;
/// As `allocate(bytes)`, after a miss of the fast path. Expects: `bytes <= most_small_bytes`.
[[nodiscard]] ASHLAR_NOINLINE void* allocate_missed(std::size_t bytes) noexcept;
/// As `allocate(bytes)`; the requested bytes are zero.
[[nodiscard]] void* allocate_zeroed(std::size_t bytes) noexcept;
/// Returns: a block of `bytes` bytes with the contents of `p`, which may be null; null with errno ENOMEM if there is no
/// memory, and `p` is unchanged then.
[[nodiscard]] void* resize_block(void* p, std::size_t bytes, std::size_t alignment) noexcept;
/// As `resize_block`, and as glibc: 0 bytes free the block, and the result is null.
[[nodiscard]] void* reallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept;
/// @{ Effects: as in the process heap, for a block of any heap.
void deallocate_slow(void* p) noexcept;
void deallocate_remote(void* p) noexcept;
/// @}
/// Effects: frees a block, and reports another size from level `checked` on; nothing for null.
ASHLAR_OF_THIS_LIBRARY void deallocate_sized(void* p, std::size_t bytes, std::size_t alignment) noexcept;
/// As `deallocate_sized`, for a size between the request and its good size, which a sample has not.
void deallocate_between(void* p, std::size_t bytes, std::size_t alignment) noexcept;
/// Returns: usable bytes of a block of any heap; 0 for null.
[[nodiscard]] std::size_t usable_size(const void* p) noexcept;
/// Returns: usable bytes that a block of `bytes` bytes has at least; 0 for a size that is refused. Expects: `alignment`
/// is a power of two.
[[nodiscard]] std::size_t good_size(std::size_t bytes, std::size_t alignment) noexcept;
/// Returns: whether the block has at least `bytes` bytes now, in place; `shrinks`: one with more gives back what it
/// can.
[[nodiscard]] bool try_expand(void* p, std::size_t bytes, bool shrinks = false) noexcept;

// ---- samples: sampled_blocks.cpp

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
/// @{ As `resize_block`, while there is a profile; as `deallocate_sized`, of a block that is in it.
[[nodiscard]] void* resize_profiled(void* p, request wanted) noexcept;
void deallocate_profiled(void* p, std::size_t bytes) noexcept;
/// @}

/// @{ As `deallocate`, `deallocate_sized` and `resize_block`, of a block of the pool. Expects: `guard_pool::has(p)`.
void deallocate_guarded(void* p) noexcept;
void deallocate_guarded(void* p, std::size_t bytes) noexcept;
[[nodiscard]] void* resize_guarded(void* p, request wanted) noexcept;
/// @}

// ---- the fast paths

/// Returns: a block, or null with errno ENOMEM.
[[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes) noexcept {
  if (ASHLAR_UNLIKELY(bytes >= fast_paths.end_of_small)) return allocate_slow(bytes);
  if constexpr (checking_level != checking::fast)  // which misses nothing
    if (counts_down(1)) return sample({bytes, granule});
  return process_heap().allocate_small_or(bytes, [bytes] { return allocate_missed(bytes); });
}

/// @{ Effects: as `allocate`, by the fast path alone, or null; with the code of `malloc`, which behind that counts the
/// request for samples once more.
[[nodiscard]] ASHLAR_INLINE void* allocate_fast(std::size_t bytes,
                                                const std::size_t& end_of_small = fast_paths.end_of_small) noexcept {
  if (ASHLAR_UNLIKELY(bytes >= end_of_small)) return nullptr;
  if constexpr (checking_level != checking::fast)
    if (counts_down(1)) return nullptr;
  return process_heap().allocate_small_or(bytes, []() -> void* { return nullptr; });
}
[[nodiscard]] void* allocate_by_malloc(std::size_t bytes) noexcept;
/// @}

/// Effects: as `deallocate`, with the code of `free`.
ASHLAR_OF_THIS_LIBRARY void deallocate_by_free(void* p) noexcept;
/// Effects: frees a block; nothing for null.
ASHLAR_INLINE void deallocate(void* p) noexcept { process_heap().deallocate_or(p, deallocate_slow, deallocate_remote); }

}  // namespace ashlar::drop_in
