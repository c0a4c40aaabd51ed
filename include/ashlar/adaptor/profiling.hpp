// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor that lets heaptrack and Valgrind see the blocks of any resource as if each came from malloc.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/adaptor/forwarding.hpp>
#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/profiling/profilers.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

/// Owns an `R`, made from the arguments, and behaves as it does; has exactly the refinements of `R`, and its size.
///
/// - Under heaptrack each block is in the profile, with the stack of calls that asked for it, whatever the build. Works
///   in shared libraries and position-independent programs, which is how compilers build them by default.
/// - Under Valgrind each block belongs to a mempool, whose name is the address of this object: an error says of which
///   block it is, and who allocated and freed that. In builds with `-DASHLAR_VALGRIND=1`. Which bytes are free is for
///   `R` to say, as all resources of ashlar do.
///
/// Where neither is there, `allocate` and `deallocate` take a load and a predicted branch each.
/// Memory that `R` takes from malloc is in heaptrack's profile twice: there, and block by block.
/// Blocks that end by a call that is not of the concepts (a reset, a rewind) end for profilers at `release`; for
/// heaptrack also when their address comes again.
/// Thread safety: that of `R`.
template <resource R>
class profiling : public forwarding<R> {
public:
  static constexpr bool is_thread_safe = thread_safe_resource<R>;

  profiling() noexcept(std::is_nothrow_default_constructible_v<R>)
    requires std::default_initializable<R>
  {
    detail::mempool::begin(this);
  }
  template <class... Args>
    requires(sizeof...(Args) != 0 && std::constructible_from<R, Args...> &&
             !(std::same_as<std::remove_cvref_t<Args>, profiling> && ...))
  explicit profiling(Args&&... args) : forwarding<R>(std::forward<Args>(args)...) {
    detail::mempool::begin(this);
  }

  profiling(const profiling&) = delete;  // blocks are known by whose they are
  profiling& operator=(const profiling&) = delete;

  ~profiling() {
    all_freed();
    detail::mempool::end(this);
  }

  using forwarding<R>::upstream_resource;

  /// As `R::allocate`.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    return allocated(upstream_resource().allocate(bytes, alignment), bytes);
  }

  /// As `R::try_allocate`.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires try_resource<R>
  {
    void* const p = upstream_resource().try_allocate(bytes, alignment);
    return p != nullptr ? allocated(p, bytes) : nullptr;
  }

  /// As `R::allocate_at_least`; the profile says how large the block has become.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment)
    requires at_least_resource<R>
  {
    const block got = upstream_resource().allocate_at_least(bytes, alignment);
    allocated(got.data, got.size);
    return got;
  }

  /// As `R::deallocate`.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    freed(p);
    detail::mark_readable(p, bytes);  // `R` may look at it
    upstream_resource().deallocate(p, bytes, alignment);
  }

  /// As above, without the size. Effects: nothing where `p` is null.
  void deallocate(void* p) noexcept
    requires self_describing_resource<R>
  {
    if (p == nullptr) return;
    freed(p);
    upstream_resource().deallocate(p);
  }

  /// As `R::try_expand`.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires expanding_resource<R>
  {
    if (!upstream_resource().try_expand(p, bytes, new_bytes, alignment)) return false;
    if (ASHLAR_UNLIKELY(detail::heaptrack::is_there())) detail::heaptrack::resized(p, new_bytes);
    detail::mempool::resized(this, p, new_bytes);
    return true;
  }

  /// As `R::release`; what was live is freed here.
  void release() noexcept
    requires releasable_resource<R>
  {
    all_freed();
    upstream_resource().release();
  }

  [[nodiscard]] friend bool operator==(const profiling& a, const profiling& b) noexcept { return &a == &b; }

private:
  ASHLAR_INLINE void* allocated(void* p, std::size_t bytes) noexcept {
    if (ASHLAR_UNLIKELY(detail::heaptrack::is_there())) detail::heaptrack::allocated(this, p, bytes);
    detail::mempool::allocated(this, p, bytes);
    return p;
  }

  // Before the block goes: another thread may have it the moment it is free.
  ASHLAR_INLINE void freed(void* p) noexcept {
    if (ASHLAR_UNLIKELY(detail::heaptrack::is_there())) detail::heaptrack::freed(p);
    detail::mempool::freed(this, p);
  }

  void all_freed() noexcept {
    if (ASHLAR_UNLIKELY(detail::heaptrack::is_there())) detail::heaptrack::all_freed(this);
    detail::mempool::all_freed(this);
  }
};

}  // namespace ASHLAR_ABI
}  // namespace ashlar
