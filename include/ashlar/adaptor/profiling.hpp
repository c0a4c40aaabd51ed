// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor that shows the blocks of any resource to heaptrack and Valgrind as if each came from malloc.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/adaptor/forwarding.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/profiling/profilers.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

/// Owns an `R`, made from the arguments, and behaves as it does. Has exactly the refinements and the size of `R`.
///
/// - Under heaptrack each block is in the profile with the call stack of its allocation, in every build. This works in
///   shared libraries and position-independent programs, the default of compilers.
/// - Under Valgrind each block belongs to a mempool, named after the address of this object. An error names the block
///   and the call stacks of its allocation and free. Needs `-DASHLAR_VALGRIND=1`. `R` marks free bytes, as all
///   resources of ashlar do.
///
/// Without either tool, `allocate` and `deallocate` take one load and one predicted branch each. Memory that `R` takes
/// from malloc is in heaptrack's profile twice: as one block of malloc, and block by block. Blocks that end by a call
/// beyond the concepts (a reset, a rewind) end for profilers at `release`; for heaptrack also when their address is
/// handed out again. Thread safety: as `R`.
template <resource R>
class profiling : public forwarding<R> {
public:
  static constexpr bool is_thread_safe = thread_safe_resource<R>;

  profiling() noexcept(std::is_nothrow_default_constructible_v<R>)
    requires std::default_initializable<R>
  {
    detail::profilers::begin(this);
  }
  template <class... Args>
    requires(sizeof...(Args) != 0 && std::constructible_from<R, Args...> &&
             !(std::same_as<std::remove_cvref_t<Args>, profiling> && ...))
  explicit profiling(Args&&... args) : forwarding<R>(std::forward<Args>(args)...) {
    detail::profilers::begin(this);
  }

  profiling(const profiling&) = delete;  // blocks are registered under the address of their adaptor
  profiling& operator=(const profiling&) = delete;

  ~profiling() {
    detail::profilers::all_freed(this);
    detail::profilers::end(this);
  }

  using forwarding<R>::upstream_resource;

  /// As `R::allocate`.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = upstream_resource().allocate(bytes, alignment);
    detail::profilers::allocated(this, p, bytes);
    return p;
  }

  /// As `R::try_allocate`.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires try_resource<R>
  {
    void* const p = upstream_resource().try_allocate(bytes, alignment);
    if (p != nullptr) detail::profilers::allocated(this, p, bytes);
    return p;
  }

  /// As `R::allocate_at_least`; the profile has the size granted.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment)
    requires at_least_resource<R>
  {
    const block got = upstream_resource().allocate_at_least(bytes, alignment);
    detail::profilers::allocated(this, got.data, got.size);
    return got;
  }

  /// As `R::deallocate`.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    detail::profilers::freed(this, p);
    detail::mark_readable(p, bytes);  // `R` may read it
    upstream_resource().deallocate(p, bytes, alignment);
  }

  /// As above, without the size. Effects: none if `p` is null.
  void deallocate(void* p) noexcept
    requires self_describing_resource<R>
  {
    if (p == nullptr) return;
    detail::profilers::freed(this, p);
    upstream_resource().deallocate(p);
  }

  /// As `R::try_expand`.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires expanding_resource<R>
  {
    if (!upstream_resource().try_expand(p, bytes, new_bytes, alignment)) return false;
    detail::profilers::resized(this, p, new_bytes);
    return true;
  }

  /// As `R::release`; the profile has every live block as freed.
  void release() noexcept
    requires releasable_resource<R>
  {
    detail::profilers::all_freed(this);
    upstream_resource().release();
  }

  [[nodiscard]] friend bool operator==(const profiling& a, const profiling& b) noexcept { return &a == &b; }
};

}  // namespace ashlar::ASHLAR_ABI
