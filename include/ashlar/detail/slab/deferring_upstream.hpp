// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An upstream adaptor that defers deallocations until the owner's lock is free.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Memory given back while a lock is held forms a list through the memory itself; the thread that releases the lock
/// hands the list on. Thread safety: `allocate`, `try_allocate` and `prefault` as the upstream; `deallocate` and
/// `take_returned` under one lock; `hand_on` any thread.
template <resource Upstream>
class deferring_upstream {
public:
  /// A block on its way back.
  struct returned {
    returned* next;
    std::size_t bytes;
    std::size_t alignment;
  };

  static constexpr std::size_t least_part_bytes = least_part<Upstream>;

  constexpr explicit deferring_upstream(Upstream upstream) : upstream_(std::move(upstream)) {}

  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    return upstream_.allocate(bytes, alignment);
  }

  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return try_allocate_from(upstream_, bytes, alignment);
  }

  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<Upstream>
  {
    upstream_.prefault(p, bytes);
  }

  /// Expects: the block has room for a `returned`.
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    waiting_ = ::new (p) returned{waiting_, bytes, alignment};
  }

  /// Returns: the deferred blocks; the caller must hand them on.
  [[nodiscard]] returned* take_returned() noexcept { return std::exchange(waiting_, nullptr); }

  /// Effects: gives the blocks to the upstream. Consecutive neighbours go as one block if the upstream is
  /// divisible.
  void hand_on(returned* blocks) noexcept {
    while (blocks != nullptr) {
      returned* const first = blocks;
      std::byte* low = reinterpret_cast<std::byte*>(first);
      std::byte* high = low + first->bytes;
      const std::size_t alignment = first->alignment;
      blocks = first->next;
      if constexpr (divisible_resource<Upstream>)  // whole blocks that are no parts go back one by one
        for (; blocks != nullptr && is_part(*first) && is_part(*blocks) && blocks->alignment == alignment;
             blocks = blocks->next)
          if (!join(low, high, *blocks)) break;
      upstream_.deallocate(low, static_cast<std::size_t>(high - low), alignment);
    }
  }

  [[nodiscard]] Upstream& get() noexcept { return upstream_; }

  [[nodiscard]] friend bool operator==(const deferring_upstream& a, const deferring_upstream& b) noexcept {
    return a.upstream_ == b.upstream_;
  }

private:
  [[nodiscard]] static bool is_part(const returned& block) noexcept { return takes_parts_of<Upstream>(block.bytes); }

  [[nodiscard]] static bool join(std::byte*& low, std::byte*& high, returned& block) noexcept {
    auto* const start = reinterpret_cast<std::byte*>(&block);
    if (start != high && start + block.bytes != low) return false;
    (start == high ? high : low) = start == high ? high + block.bytes : start;
    return true;
  }

  returned* waiting_ = nullptr;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
