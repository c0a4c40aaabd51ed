// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chunk of a group: the memory of its blocks, and a head in a table, so that heads share no cache set.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>

namespace ashlar::route {

using detail::atomic;

inline constexpr std::size_t granule = 16;  ///< bytes: the alignment of each block

/// A free block.
struct free_block {
  free_block* next;
};

struct thread_record;

/// The head of a chunk. In an arena the marks of its blocks follow, a bit for each granule at which a block begins.
///
///     chunk of a pool:   | cell | cell | free | … | never used |     used == cells handed out
///     chunk of an arena: | block | dead | block | … | never used |   used == blocks not yet freed
///                        begin                      fresh       end
///
/// Thread safety: the thread whose record owns the chunk; others read the owner while they have one of its blocks.
/// The guard reads `fresh`, `used` and `taken` of all chunks, as figures.
struct alignas(64) chunk {
  atomic<thread_record*> owner = nullptr;  ///< null: free
  union {
    free_block* free = nullptr;  ///< freed cells of a pool
    std::byte* begin;            ///< of the memory of an arena
  };
  atomic<std::byte*> fresh = nullptr;
  std::byte* end = nullptr;
  chunk* next = nullptr;  ///< in the list of chunks with free cells of its thread, or of free chunks of its group
  chunk* previous = nullptr;
  atomic<std::uint32_t> used = 0;
  atomic<std::uint32_t> taken = 0;  ///< blocks of an arena since its chunk was empty
  /// A free that leaves fewer used blocks takes the slow path: 1, or any number while the chunk of a pool has no free
  /// cells, or none for a pool's current chunk.
  std::uint32_t wake = 0;

  [[nodiscard]] ASHLAR_INLINE atomic<std::uint64_t>* marks() noexcept {
    return reinterpret_cast<atomic<std::uint64_t>*>(this + 1);
  }
};
static_assert(sizeof(chunk) == 64);

/// @{ A figure that its one writer changes and others read.
template <class T>
[[nodiscard]] ASHLAR_INLINE T value_of(const atomic<T>& figure) noexcept {
  return figure.load(detail::memory_order_relaxed);
}
template <class T>
ASHLAR_INLINE void set(atomic<T>& figure, T value) noexcept {
  figure.store(value, detail::memory_order_relaxed);
}
template <class T>
ASHLAR_INLINE void add(atomic<T>& figure, T more) noexcept {
  set(figure, static_cast<T>(value_of(figure) + more));
}
/// @}

/// The marks of an arena's blocks, by granules from the start of the chunk.
namespace marks {

[[nodiscard]] constexpr std::size_t bytes_of(std::size_t chunk_bytes) noexcept { return chunk_bytes / granule / 8; }

ASHLAR_INLINE void put(chunk& of, std::size_t granules) noexcept {
  atomic<std::uint64_t>& word = of.marks()[granules / 64];
  set(word, value_of(word) | std::uint64_t{1} << granules % 64);
}

/// Returns: the first mark from `from` on and before `end`, or `end`.
[[nodiscard]] inline std::size_t next(chunk& of, std::size_t from, std::size_t end) noexcept {
  for (std::size_t at = from; at < end; at = (at / 64 + 1) * 64)
    if (const std::uint64_t rest = value_of(of.marks()[at / 64]) >> at % 64; rest != 0) {
      const std::size_t found = at + static_cast<std::size_t>(__builtin_ctzll(rest));
      return found < end ? found : end;
    }
  return end;
}

/// Effects: removes all marks before `end`.
ASHLAR_INLINE void clear(chunk& of, std::size_t end) noexcept {
  for (std::size_t word = 0; word * 64 < end; ++word) set(of.marks()[word], std::uint64_t{0});
}

}  // namespace marks

}  // namespace ashlar::route
