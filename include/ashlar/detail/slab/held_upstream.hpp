// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An upstream that counts the bytes which are held from it.
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/atomics.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The bytes held from `Upstream`. One addition an upstream call; it needs no lock, since the counter orders no other
/// memory.
///
///     pools, large blocks, caches -> held_upstream: held_bytes += bytes -> Upstream
///
/// Thread safety: that of the upstream.
template <resource Upstream>
class held_upstream {
public:
  static constexpr bool is_thread_safe = thread_safe_resource<Upstream>;
  static constexpr bool is_divisible = divisible_resource<Upstream>;

  /// Effects: makes the upstream from the arguments.
  template <class... Args>
    requires std::constructible_from<Upstream, Args...>
  constexpr explicit held_upstream(Args&&... args) : upstream_(std::forward<Args>(args)...) {}
  held_upstream(const held_upstream&) = delete;  // bytes would be counted in one and given back in the other
  held_upstream& operator=(const held_upstream&) = delete;

  /// Throws: as the upstream.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = upstream_.allocate(bytes, alignment);
    add(bytes);
    return p;
  }

  /// As `allocate`, but returns null when the upstream has no memory left.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = try_allocate_from(upstream_, bytes, alignment);
    if (p != nullptr) add(bytes);
    return p;
  }

  /// Expects: a block, or a part of one if the upstream is divisible.
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    upstream_.deallocate(p, bytes, alignment);
    add(std::size_t{0} - bytes);
  }

  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<Upstream>
  {
    upstream_.prefault(p, bytes);
  }

  /// Returns: bytes held from the upstream. Thread safety: any thread, if the upstream is thread-safe.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_.load(memory_order_relaxed); }

  [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }

  [[nodiscard]] friend bool operator==(const held_upstream& a, const held_upstream& b) noexcept { return &a == &b; }

private:
  void add(std::size_t bytes) noexcept {
    if constexpr (is_thread_safe) held_.fetch_add(bytes, memory_order_relaxed);
    else held_.store(held_bytes() + bytes, memory_order_relaxed);
  }

  atomic<std::size_t> held_ = 0;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
