// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The allocators for a replay inside one process: any malloc, ashlar's, and none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/study/pooled_allocator.hpp>
#include <ashlar/study/replay.hpp>
#include <ashlar/study/replay_op.hpp>

#include "cli/replay/windows.hpp"

namespace ashlar::cli {

/// The malloc of this process: the C library's, or that of a preloaded library. New and delete are replayed as malloc
/// and free.
class system_allocator {
public:
  static constexpr bool touches = true;

  [[nodiscard]] void* allocate(detail::replay_request r) noexcept {
    const auto size = static_cast<std::size_t>(r.size());
    if (r.kind() == detail::replay_kind::allocate_zeroed) return std::calloc(1, size);
    if (r.alignment() <= alignof(std::max_align_t)) return std::malloc(size);
    return std::aligned_alloc(static_cast<std::size_t>(r.alignment()), size);
  }
  [[nodiscard]] void* reallocate(void* block, detail::replay_request, detail::replay_request r) noexcept {
    return std::realloc(block, std::max<std::size_t>(static_cast<std::size_t>(r.size()), 1));  // 0 might be a free
  }
  void deallocate(void* block, detail::replay_request) noexcept { std::free(block); }
};
static_assert(detail::replay_allocator<system_allocator>);

/// A lane's handle of an allocator that all lanes share.
template <class Allocator>
class shared_allocator {
public:
  static constexpr bool touches = true;

  explicit shared_allocator(Allocator& allocator) noexcept : allocator_(&allocator) {}

  [[nodiscard]] ASHLAR_INLINE void* allocate(detail::replay_request r) noexcept { return allocator_->allocate(r); }
  [[nodiscard]] void* reallocate(void* block, detail::replay_request was, detail::replay_request r) noexcept {
    return allocator_->reallocate(block, was, r);
  }
  ASHLAR_INLINE void deallocate(void* block, detail::replay_request r) noexcept { allocator_->deallocate(block, r); }

private:
  Allocator* allocator_;
};
static_assert(detail::replay_allocator<shared_allocator<detail::pooled_allocator<null_lock>>>);

/// No allocator: blocks come in turn from a ring that fits the cache; all large ones are one block. The replay loop
/// remains and, if `Touches`, the writes to memory that is always cached.
template <bool Touches>
class null_allocator {
public:
  static constexpr bool touches = Touches;
  static constexpr std::size_t ring_bytes = std::size_t{256} << 10;

  /// `large` is shared by all lanes and holds `touch::limit` bytes.
  explicit null_allocator(std::byte* large) : ring_(map_pages(ring_bytes)), large_(large) {}

  [[nodiscard]] void* allocate(detail::replay_request r) noexcept {
    if (r.size() > ring_bytes / 4 || r.alignment() > ring_bytes / 4) return large_;
    const auto size = static_cast<std::size_t>(r.size());
    std::size_t at = detail::align_up(next_, std::max<std::size_t>(static_cast<std::size_t>(r.alignment()), 16));
    if (at + size > ring_bytes) at = 0;
    next_ = at + size;
    return ring_ + at;
  }
  [[nodiscard]] void* reallocate(void*, detail::replay_request, detail::replay_request r) noexcept {
    return allocate(r);
  }
  void deallocate(void*, detail::replay_request) noexcept {}

private:
  std::byte* ring_;
  std::byte* large_;
  std::size_t next_ = 0;
};
static_assert(detail::replay_allocator<null_allocator<true>>);

}  // namespace ashlar::cli
