// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ashlar as a replay allocator: a block pool for each size class, malloc for larger and over-aligned blocks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/replay/replay_classes.hpp>
#include <ashlar/detail/replay/replay_op.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/resource/block_pool.hpp>

namespace ashlar::ASHLAR_ABI::detail {

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
    if (!pooled(r)) return std::free(block);
    class_pool& s = class_pools_[class_of(r)];
    const lock_scope<Lock> scope(s.lock);
    s.pool.deallocate(block);
  }

  [[nodiscard]] void* reallocate(void* block, replay_request was, replay_request r) noexcept {
    const bool stays = pooled(was) && pooled(r) && class_of(was) == class_of(r);
    if (stays) return block;
    if (!pooled(was) && !pooled(r) && was.alignment() <= largest_alignment) return std::realloc(block, bytes_of(r));
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
    if (r.kind() == replay_kind::allocate_zeroed) return std::calloc(1, bytes_of(r));
    if (r.alignment() <= largest_alignment) return std::malloc(bytes_of(r));
    return std::aligned_alloc(static_cast<std::size_t>(r.alignment()),
                              align_up(bytes_of(r), static_cast<std::size_t>(r.alignment())));
  }

  std::array<class_pool, replay_classes::count> class_pools_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
