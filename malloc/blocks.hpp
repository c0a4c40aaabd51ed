// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks for malloc and its relatives: the fast paths of the process heap, in front of slow paths with errno and
// options.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "malloc/sampled_blocks.hpp"
#include "malloc/sampling.hpp"

struct ashlar_heap;

namespace ashlar::drop_in {

/// Bytes of the largest request: no program has as many addresses. Larger requests are refused without being tried.
inline constexpr std::size_t most_bytes = std::size_t{1} << 48;
/// The largest alignment: no address of a program is a multiple of the next one.
inline constexpr std::size_t most_alignment = std::size_t{1} << 47;
inline constexpr std::size_t granule = detail::size_classes::granule;  ///< bytes: the alignment of each block
inline constexpr std::size_t largest_cell = detail::size_classes::largest;

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

/// Effects: sets errno. Returns: null.
[[nodiscard]] ASHLAR_COLD inline void* refuse(int error) noexcept {
  errno = error;
  return nullptr;
}

/// Returns: a block, or null with errno ENOMEM.
[[nodiscard]] void* allocate_slow(std::size_t bytes) noexcept;
/// As `allocate_slow`, after a miss of the fast path. Expects: `bytes <= most_small_bytes`.
[[nodiscard]] ASHLAR_NOINLINE void* allocate_missed(std::size_t bytes) noexcept;
/// As `allocate_slow`. Expects: `alignment` is a power of two.
[[nodiscard]] void* allocate_aligned(std::size_t bytes, std::size_t alignment) noexcept;
/// As `allocate_slow`; the requested bytes are zero.
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
/// Returns: whether the block has at least `bytes` bytes now, in place; `shrinks`: one with more gives back what it
/// can.
[[nodiscard]] bool try_expand(void* p, std::size_t bytes, bool shrinks = false) noexcept;

/// @{ As those without `in`, uncounted, in a heap that is an object, or for null in the heap of the process; errno is
/// not set. Expects: `bytes <= most_bytes`; `p` is not null.
[[nodiscard]] void* allocate_in(ashlar_heap* heap, std::size_t bytes, std::size_t alignment) noexcept;
[[nodiscard]] void* allocate_zeroed_in(ashlar_heap* heap, std::size_t bytes) noexcept;
[[nodiscard]] void* resize_in(ashlar_heap& heap, void* p, std::size_t bytes) noexcept;
/// @}

/// @{ As the functions without `uncounted`, for a request that does not count as a candidate for a sample: it has been
/// one. Expects: `bytes <= most_bytes`; `alignment` is at least a granule; `p` is not null.
[[nodiscard]] void* allocate_uncounted(std::size_t bytes, std::size_t alignment) noexcept;
/// Of the heap of `p`, not of the thread's default one.
[[nodiscard]] void* allocate_beside(const void* p, std::size_t bytes, std::size_t alignment) noexcept;
[[nodiscard]] void* allocate_zeroed_uncounted(std::size_t bytes) noexcept;
[[nodiscard]] void* resize_uncounted(void* p, std::size_t bytes, std::size_t alignment) noexcept;
/// @}

/// Returns: a block, or null with errno ENOMEM.
[[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes) noexcept {
  if (ASHLAR_UNLIKELY(bytes >= fast_paths.end_of_small)) return allocate_slow(bytes);
  if constexpr (checking_level != checking::fast)  // which misses nothing
    if (counts_down(1)) return sample_cell(bytes);
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
/// Effects: moves a block of `had` bytes to the new one at `moved`, of `bytes` bytes. Returns: `moved`; null, without
/// an effect, for null.
[[nodiscard]] ASHLAR_INLINE void* moved_from(void* p, std::size_t had, void* moved, std::size_t bytes) noexcept {
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, p, detail::min(had, bytes));
  deallocate_by_free(p);
  return moved;
}
/// Effects: frees a block; nothing for null.
ASHLAR_INLINE void deallocate(void* p) noexcept { process_heap().deallocate_or(p, deallocate_slow, deallocate_remote); }

}  // namespace ashlar::drop_in
