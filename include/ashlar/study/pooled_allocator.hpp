// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ashlar as replay allocators: a block pool for each size class with malloc behind, or a heap.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/study/replay_op.hpp>

namespace ashlar::ASHLAR_ABI::detail {

inline constexpr std::size_t exact_replay_classes = 128;  // up to here one class for each multiple of 8

[[nodiscard]] constexpr std::size_t replay_class_of(std::size_t bytes) noexcept {
  if (bytes <= exact_replay_classes) return bytes == 0 ? 0 : (bytes - 1) / 8;
  const auto width = static_cast<std::size_t>(std::bit_width(bytes - 1));  // 8 from 129 to 256
  return exact_replay_classes / 8 + (width - 8) * 8 + ((bytes - 1) >> (width - 4)) - 8;
}

template <std::size_t Largest>
inline constexpr auto replay_class_table = [] {
  std::array<std::uint8_t, Largest / 8 + 1> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(replay_class_of(i * 8));
  return table;
}();

/// The size classes of a replay's block pools: multiples of 8 bytes up to 128, then eight classes for every doubling.
/// Sizes 8, 16, ... 128, 144, ... 256, 288, ... `largest`: a cell wastes at most an eighth of itself, or 7 bytes.
struct replay_classes {
  static constexpr std::size_t largest = 8192;
  static constexpr std::size_t count = replay_class_of(largest) + 1;
  static_assert(count <= 256, "a class is looked up in a table of bytes");

  /// Returns: the smallest class with room for `bytes`. Expects: `bytes <= largest`.
  [[nodiscard]] static ASHLAR_INLINE std::size_t of(std::size_t bytes) noexcept {
    return replay_class_table<largest>[(bytes + 7) / 8];
  }

  [[nodiscard]] static constexpr std::size_t cell_bytes(std::size_t index) noexcept {
    if (index < exact_replay_classes / 8) return (index + 1) * 8;
    const std::size_t above = index - exact_replay_classes / 8;
    return (above % 8 + 9) << (above / 8 + 4);
  }
};

/// Pools shared by all threads, each behind its own lock: `null_lock` for one thread. Frees are sized, as in C++, so no
/// block has a header. A cell is aligned to the largest power of two that divides its size, 16 bytes at most: enough
/// for any type of that size.
///
/// Thread safety: any thread, if `Lock` is a lock.
template <basic_lockable Lock>
class pooled_allocator {
public:
  pooled_allocator() : pooled_allocator(std::make_index_sequence<replay_classes::count>()) {}

  [[nodiscard]] void* allocate(replay_request r) noexcept {
    if (!pooled(r)) return allocate_large(r);
    void* const cell = take(class_of(r));
    if (r.kind() == replay_kind::allocate_zeroed && cell != nullptr) std::memset(cell, 0, bytes_of(r));
    return cell;
  }

  void deallocate(void* block, replay_request r) noexcept {
    if (r.alignment() > largest_alignment) return ::operator delete(block, alignment_of(r));
    if (!pooled(r)) return std::free(block);
    class_pool& s = class_pools_[class_of(r)];
    const lock_scope<Lock> scope(s.lock);
    s.pool.deallocate(block);
  }

  [[nodiscard]] void* reallocate(void* block, replay_request was, replay_request r) noexcept {
    const bool stays = pooled(was) && pooled(r) && class_of(was) == class_of(r);
    if (stays) return block;
    const bool are_plain = was.alignment() <= largest_alignment && r.alignment() <= largest_alignment;
    if (!pooled(was) && !pooled(r) && are_plain) return std::realloc(block, bytes_of(r));
    void* const moved = allocate(r);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, block, std::min(bytes_of(was), bytes_of(r)));
    deallocate(block, was);
    return moved;
  }

private:
  static constexpr std::size_t largest_alignment = alignof(std::max_align_t);

  // A cache line of its own: threads in two size classes do not contend.
  struct alignas(128) class_pool {
    explicit class_pool(std::size_t index) : pool({.cell_bytes = replay_classes::cell_bytes(index)}) {}
    block_pool<> pool;
    Lock lock;
  };

  template <std::size_t... Index>
  explicit pooled_allocator(std::index_sequence<Index...>) : class_pools_{{class_pool(Index)...}} {}

  [[nodiscard]] static std::size_t bytes_of(replay_request r) noexcept { return static_cast<std::size_t>(r.size()); }
  [[nodiscard]] static std::align_val_t alignment_of(replay_request r) noexcept {
    return static_cast<std::align_val_t>(r.alignment());
  }
  [[nodiscard]] static bool pooled(replay_request r) noexcept {
    return r.size() <= replay_classes::largest && r.alignment() <= largest_alignment;
  }
  // A cell size that is a multiple of the alignment gives that alignment.
  [[nodiscard]] static std::size_t class_of(replay_request r) noexcept {
    return replay_classes::of(align_up(std::max<std::size_t>(bytes_of(r), 1), static_cast<std::size_t>(r.alignment())));
  }

  [[nodiscard]] void* take(std::size_t index) noexcept {
    class_pool& s = class_pools_[index];
    const lock_scope<Lock> scope(s.lock);
    return s.pool.try_allocate();
  }

  [[nodiscard]] ASHLAR_COLD void* allocate_large(replay_request r) noexcept {
    if (r.alignment() > largest_alignment) return ::operator new(bytes_of(r), alignment_of(r), std::nothrow);
    return r.kind() == replay_kind::allocate_zeroed ? std::calloc(1, bytes_of(r)) : std::malloc(bytes_of(r));
  }

  std::array<class_pool, replay_classes::count> class_pools_;
};

/// A lane's handle of a heap. Expects: a heap for one thread has one lane, which allocates, moves and frees every
/// block. A heap for any thread is shared by all lanes and serves any trace.
template <class Heap>
class heap_allocator {
public:
  static constexpr bool touches = true;

  explicit heap_allocator(Heap& heap) noexcept : heap_(&heap) {}

  [[nodiscard]] ASHLAR_INLINE void* allocate(replay_request r) noexcept {
    if (ASHLAR_UNLIKELY(r.kind() == replay_kind::allocate_zeroed))
      return heap_->try_allocate_zeroed(bytes_of(r), alignment_of(r));
    return heap_->try_allocate(bytes_of(r), alignment_of(r));
  }
  [[nodiscard]] void* reallocate(void* block, [[maybe_unused]] replay_request was, replay_request r) noexcept {
    if constexpr (requires { heap_->try_reallocate(block, bytes_of(r), alignment_of(r)); })
      return heap_->try_reallocate(block, bytes_of(r), alignment_of(r));
    else return heap_->try_reallocate(block, bytes_of(was), bytes_of(r), alignment_of(r));
  }
  ASHLAR_INLINE void deallocate(void* block, replay_request) noexcept { heap_->deallocate(block); }
  ASHLAR_INLINE void deallocate_sized(void* block, replay_request r) noexcept {
    heap_->deallocate(block, bytes_of(r), alignment_of(r));
  }

private:
  [[nodiscard]] static ASHLAR_INLINE std::size_t bytes_of(replay_request r) noexcept {
    return static_cast<std::size_t>(std::min<std::uint64_t>(r.size(), max_size));
  }
  [[nodiscard]] static ASHLAR_INLINE std::size_t alignment_of(replay_request r) noexcept {
    return std::max(static_cast<std::size_t>(r.alignment()), Heap::least_alignment);
  }

  Heap* heap_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
