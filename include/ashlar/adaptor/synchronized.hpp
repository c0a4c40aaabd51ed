// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor that serialises the calls of a resource with one lock.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

/// Owns an `R`, made from the arguments, and holds a lock during every call of it, but not while misuse is reported.
/// Has exactly the refinements of `R`. Neither copies nor moves: it contains a lock.
///
///     ashlar::synchronized<ashlar::block_pool<>> tickets(
///         ashlar::block_pool_options{.cell_bytes = 64, .max_count = 8});
///
/// For a pool without a limit, `shared_block_pool` is faster: it locks once for many cells. Thread safety: any thread,
/// except for uses of the resource of `with_upstream` outside of `f`. A fork waits for the lock, so that the child can
/// go on with it; code that runs under the lock must not fork (`detail/thread/fork_safe_lock.hpp`).
template <resource R, basic_lockable Lock>
class synchronized {
public:
  static constexpr bool is_thread_safe = true;
  static constexpr std::size_t least_part_bytes = least_part<R>;

  synchronized() = default;
  template <class... Args>
    requires(std::constructible_from<R, Args...> && !(std::same_as<std::remove_cvref_t<Args>, synchronized> && ...))
  explicit synchronized(Args&&... args) : upstream_(std::forward<Args>(args)...) {}

  synchronized(const synchronized&) = delete;
  synchronized& operator=(const synchronized&) = delete;

  /// As `R::allocate`.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    const report_scope held(lock_);
    return upstream_.allocate(bytes, alignment);
  }

  /// As `R::try_allocate`.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires try_resource<R>
  {
    const report_scope held(lock_);
    return upstream_.try_allocate(bytes, alignment);
  }

  /// As `R::allocate_at_least`.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment)
    requires at_least_resource<R>
  {
    const report_scope held(lock_);
    return upstream_.allocate_at_least(bytes, alignment);
  }

  /// As `R::deallocate`.
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const report_scope held(lock_);
    upstream_.deallocate(p, bytes, alignment);
  }

  /// As `R::deallocate`.
  void deallocate(void* p) noexcept
    requires self_describing_resource<R>
  {
    const report_scope held(lock_);
    upstream_.deallocate(p);
  }

  [[nodiscard]] bool owns(const void* p) const noexcept
    requires owning_resource<R>
  {
    const report_scope held(lock_);
    return upstream_.owns(p);
  }

  /// As `R::release`.
  void release() noexcept
    requires releasable_resource<R>
  {
    const report_scope held(lock_);
    upstream_.release();
  }

  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires expanding_resource<R>
  {
    const report_scope held(lock_);
    return upstream_.try_expand(p, bytes, new_bytes, alignment);
  }

  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<R>
  {
    const report_scope held(lock_);
    upstream_.prefault(p, bytes);
  }

  /// Effects: calls `f(R&)` under the lock, for members beyond the concepts. Returns: the result of `f`.
  template <class F>
  decltype(auto) with_upstream(F f) {
    const report_scope held(lock_);
    return f(upstream_);
  }

  [[nodiscard]] friend bool operator==(const synchronized& a, const synchronized& b) noexcept { return &a == &b; }

private:
  ASHLAR_NO_UNIQUE_ADDRESS R upstream_;
  ASHLAR_NO_UNIQUE_ADDRESS mutable detail::fork_safe<Lock> lock_ = {};
};

}  // namespace ashlar::ASHLAR_ABI
