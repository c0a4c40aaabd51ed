// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Allocation of per-thread records from separate pages, without any other allocator.
#pragma once

#include <bit>
#include <cstddef>
#include <new>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/os/pages.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Cells of one size for the process, constant-initialised and never destroyed: usable before `main`, after it, and by
/// a thread that ends late.
///
///     chunk, aligned to its size:  | header: freed -> cell -> cell | cell | cell | … | unused |
///     try_allocate:  1. free list, 2. freed cells of all chunks, 3. unused part of the latest chunk, 4. new chunk
///
/// A free pushes the cell onto the list of its chunk by one compare-and-swap, in any library: the copy of this class in
/// another library gets its cells back, even after that library was closed. Each library has its own copy, which leaves
/// the fork participants before the library is unloaded. Chunks are never returned; their number is the peak's.
/// Thread safety: any thread; allocation takes one lock, which a fork finds free until static objects are destroyed.
template <std::size_t Bytes>
class ASHLAR_OF_THIS_LIBRARY record_cells {
public:
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t chunk_bytes = detail::max(std::size_t{16} * 1024, std::bit_ceil(8 * Bytes));

  /// Returns: a cell, or null if the system has no memory left. Complexity: O(chunks) at worst.
  [[nodiscard]] static void* try_allocate() noexcept {
    fork_participants::enter(at_fork_);
    if (void* const cell = take(); cell != nullptr) return cell;
    void* const memory = os::pages::map(chunk_bytes, chunk_bytes);
    return memory != nullptr ? add_and_take(::new (memory) chunk) : nullptr;
  }

  /// Effects: takes a cell back. Expects: it came from `try_allocate` of this size, in any library.
  static void deallocate(void* p) noexcept {
    atomic<free_cell*>& freed = reinterpret_cast<chunk*>(align_down(p, chunk_bytes))->freed;
    auto* const cell = ::new (p) free_cell{freed.load(memory_order_relaxed)};
    while (!freed.compare_exchange_weak(cell->next, cell, memory_order_release, memory_order_relaxed));
  }

private:
  struct free_cell {
    free_cell* next;
  };

  struct alignas(alignment) chunk {
    atomic<free_cell*> freed = nullptr;  // release in deallocate(); acquire in take_locked()
    chunk* next = nullptr;
  };

  struct cells {
    spin_lock lock;
    chunk* chunks = nullptr;
    free_cell* free = nullptr;
    std::byte* unused = nullptr;  // the unused part of the latest chunk
    std::size_t unused_count = 0;
  };

  [[nodiscard]] static void* take() noexcept {
    const lock_scope held(all_.lock);
    return take_locked();
  }

  [[nodiscard]] static void* add_and_take(chunk* fresh) noexcept {
    const lock_scope held(all_.lock);
    if (all_.unused_count == 0) {
      all_.unused = reinterpret_cast<std::byte*>(fresh + 1);
      all_.unused_count = cells_of_chunk;
    } else {
      keep_for_later(fresh);  // another thread was faster
    }
    fresh->next = std::exchange(all_.chunks, fresh);
    return take_locked();
  }

  // Expects: the lock is held.
  [[nodiscard]] static void* take_locked() noexcept {
    for (chunk* each = all_.chunks; each != nullptr && all_.free == nullptr; each = each->next)
      all_.free = each->freed.exchange(nullptr, memory_order_acquire);
    if (all_.free != nullptr) return std::exchange(all_.free, all_.free->next);
    if (all_.unused_count == 0) return nullptr;
    --all_.unused_count;
    return std::exchange(all_.unused, all_.unused + Bytes);
  }

  static void keep_for_later(chunk* fresh) noexcept {
    auto* cell = reinterpret_cast<std::byte*>(fresh + 1);
    for (std::size_t i = 0; i != cells_of_chunk; ++i) deallocate(cell + i * Bytes);
  }

  static constexpr std::size_t cells_of_chunk = (chunk_bytes - sizeof(chunk)) / Bytes;
  static_assert(Bytes % alignment == 0 && Bytes >= sizeof(free_cell), "each cell has cache lines of its own");

  static inline constinit cells all_;
  static inline constinit fork_participant at_fork_ = at_last_step(all_.lock);
};

/// Makes and ends records. Types of the same size, rounded up to 64 bytes, share cells.
template <class Record>
class thread_records {
public:
  /// Returns: a record made from the arguments, or null if the system has no memory left.
  template <class... Args>
  [[nodiscard]] static Record* try_make(Args&&... args) noexcept {
    void* const cell = cells<>::try_allocate();
    return cell != nullptr ? ::new (cell) Record(std::forward<Args>(args)...) : nullptr;
  }

  /// Expects: `try_make` made it.
  static void end(Record* leaving) noexcept {
    leaving->~Record();
    cells<>::deallocate(leaving);
  }

private:
  // A template, since the record may still be incomplete.
  template <class R = Record>
  using cells = record_cells<align_up(sizeof(R), std::size_t{64})>;
};

}  // namespace ashlar::ASHLAR_ABI::detail
