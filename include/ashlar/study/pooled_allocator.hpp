// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ashlar as replay allocators: a block pool for each size class with malloc behind, or a heap.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/study/replay_op.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The size classes of a replay's block pools.
using replay_classes = basic_size_classes<8, 8 * 1024>;

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
    class_pool& s = class_pools_[class_of(r) - 1];
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
    explicit class_pool(std::size_t size_class) : pool({.cell_bytes = replay_classes::bytes_of(size_class)}) {}
    block_pool<> pool;
    Lock lock;
  };

  template <std::size_t... Index>
  explicit pooled_allocator(std::index_sequence<Index...>) : class_pools_{{class_pool(Index + 1)...}} {}

  [[nodiscard]] static std::size_t bytes_of(replay_request r) noexcept { return static_cast<std::size_t>(r.size()); }
  [[nodiscard]] static std::align_val_t alignment_of(replay_request r) noexcept {
    return static_cast<std::align_val_t>(r.alignment());
  }
  [[nodiscard]] static bool pooled(replay_request r) noexcept {
    return r.size() <= replay_classes::largest && r.alignment() <= largest_alignment;
  }
  [[nodiscard]] static std::size_t class_of(replay_request r) noexcept {
    return replay_classes::of(bytes_of(r), static_cast<std::size_t>(r.alignment()));
  }

  [[nodiscard]] void* take(std::size_t size_class) noexcept {
    class_pool& s = class_pools_[size_class - 1];
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
