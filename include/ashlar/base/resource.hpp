// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one concept everything composes by, its refinements, and the reference that shares a resource.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/expects.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

/// Hands out and takes back blocks. `std::pmr::memory_resource` models it unchanged.
///   allocate(bytes, alignment)       a block, never null; throws `std::bad_alloc`
///   deallocate(p, bytes, alignment)  takes it back, with the same size and alignment
///   a == b                           a block of one may be given back to the other
template <class R>
concept resource = requires(R& r, const R& a, void* p, std::size_t n) {
  { r.allocate(n, n) } -> std::same_as<void*>;
  r.deallocate(p, n, n);
  { a == a } -> std::convertible_to<bool>;
};

/// Also answers with null where memory has run out.
template <class R>
concept try_resource = resource<R> && requires(R& r, std::size_t n) {
  { r.try_allocate(n, n) } noexcept -> std::same_as<void*>;
};

/// Also knows whether it handed out an address.
template <class R>
concept owning_resource = resource<R> && requires(const R& r, const void* p) {
  { r.owns(p) } noexcept -> std::same_as<bool>;
};

/// Also takes everything back at once.
template <class R>
concept releasable_resource = resource<R> && requires(R& r) {
  { r.release() } noexcept;
};

/// Whether `r.deallocate(p)` of a resource takes every block of it. A pool whose `deallocate(cell)` takes cells only,
/// and neither larger blocks nor null, says no by a member `is_self_describing` that is false.
template <class R>
inline constexpr bool enable_self_describing = true;
template <class R>
  requires requires { R::is_self_describing; }
inline constexpr bool enable_self_describing<R> = R::is_self_describing;

/// Also finds the size of a block by itself. `deallocate(p)` does nothing where `p` is null, at every level.
template <class R>
concept self_describing_resource = resource<R> && enable_self_describing<R> && requires(R& r, void* p) {
  { r.deallocate(p) } noexcept;
};

/// Also grows or shrinks a block where it stands, or says no.
template <class R>
concept expanding_resource = resource<R> && requires(R& r, void* p, std::size_t n) {
  { r.try_expand(p, n, n, n) } noexcept -> std::same_as<bool>;
};

/// Also makes fresh memory resident ahead of its first touch, where that is cheaper than one page fault after another.
template <class R>
concept prefaulting_resource = resource<R> && requires(R& r, void* p, std::size_t n) {
  { r.prefault(p, n) } noexcept;
};

/// Also says how large a block has really become: all of it may be used, and `deallocate` takes it with any size from
/// what was asked for to that.
template <class R>
concept at_least_resource = resource<R> && requires(R& r, std::size_t n) {
  { r.allocate_at_least(n, n) } -> std::same_as<block>;
};

/// Also hands out runs of neighbouring cells; a run is given back with the number that it was asked for by.
template <class R>
concept run_resource = resource<R> && requires(R& r, const R& c, void* p, std::size_t n) {
  { r.allocate_run(n) } -> std::same_as<void*>;
  { r.deallocate_run(p, n) } noexcept;
  { r.allocate_at_least(n).count } -> std::convertible_to<std::size_t>;
  { c.cell_bytes() } noexcept -> std::same_as<std::size_t>;
  { c.cell_alignment() } noexcept -> std::same_as<std::size_t>;
};

/// Whether a resource says that any thread may use it at any time: a member `is_thread_safe` that is true. Specialise
/// it for a resource of somebody else's.
template <class R>
inline constexpr bool enable_thread_safe = false;
template <class R>
  requires requires { R::is_thread_safe; }
inline constexpr bool enable_thread_safe<R> = R::is_thread_safe;

/// Also may be used by any thread at any time.
template <class R>
concept thread_safe_resource = resource<R> && enable_thread_safe<R>;

/// Also is the same resource everywhere in the process, whichever thread asks and however the object was made: a member
/// `is_process_wide` that is true, in a type without data that anybody can make. What refers to an instance, or to what
/// belongs to a thread, is none: an allocator without data over it would free to another than it allocated from.
template <class R>
concept process_wide_resource =
    resource<R> && std::is_empty_v<R> && std::default_initializable<R> && requires { requires R::is_process_wide; };

/// Bytes: no page is larger, so whole parts of this size share none.
inline constexpr std::size_t least_part = std::size_t{64} * 1024;

/// Also takes a block back in parts, in any order, each a multiple of `least_part` long and aligned: a member
/// `is_divisible` that is true. A resource on it may ask for much at once and give it back bit by bit.
/// Adaptors that keep book of whole blocks do not pass this on.
template <class R>
concept divisible_resource = resource<R> && requires { requires R::is_divisible; };

/// Returns: a block, or null where `r` has no memory left, whether `r` says so by null or by an exception.
template <resource R>
[[nodiscard]] void* try_allocate_from(R& r, std::size_t bytes, std::size_t alignment) noexcept {
  if constexpr (try_resource<R>) {
    return r.try_allocate(bytes, alignment);
  } else {
    ASHLAR_TRY { return r.allocate(bytes, alignment); }
    ASHLAR_CATCH_ALL { return nullptr; }
  }
}

/// Returns: a block of `r`, never null. Throws: `std::bad_alloc` where `r.try_allocate` says null.
template <try_resource R>
[[nodiscard]] ASHLAR_INLINE void* allocate_or_throw(R& r, std::size_t bytes, std::size_t alignment) {
  void* const p = r.try_allocate(bytes, alignment);
  if (ASHLAR_UNLIKELY(p == nullptr)) throw_bad_alloc(bytes, alignment);
  return p;
}

/// Returns: a block of at least `bytes`: how large it has really become, where `r` can say so.
/// Throws: what `r.allocate` throws.
template <resource R>
[[nodiscard]] ASHLAR_INLINE block allocate_at_least_from(R& r, std::size_t bytes, std::size_t alignment) {
  if constexpr (at_least_resource<R>) return r.allocate_at_least(bytes, alignment);
  else return {r.allocate(bytes, alignment), bytes};
}

/// Effects: ends the process where the alignment is none; for requests that a resource hands on as they came.
/// Throws: `std::bad_alloc` where no block can be so large.
inline void expect_request(std::size_t bytes, std::size_t alignment) {
  ASHLAR_REQUIRE(detail::is_power_of_two(alignment), "alignment is not a power of two");
  if (!detail::is_valid_request(bytes, alignment)) throw_bad_alloc(bytes, alignment);
}

/// Returns: a block of `upstream`, for a resource that cannot serve the request itself. Expects: `alignment` is a power
/// of two, which is looked at here, whatever `upstream` does. Throws: `std::bad_alloc`, or what `upstream` throws.
template <resource R>
[[nodiscard]] ASHLAR_COLD void* allocate_upstream(R& upstream, std::size_t bytes, std::size_t alignment) {
  expect_request(bytes, alignment);
  return upstream.allocate(bytes, alignment);
}

/// As `allocate_upstream`, and how large the block has become.
template <resource R>
[[nodiscard]] ASHLAR_COLD block allocate_upstream_at_least(R& upstream, std::size_t bytes, std::size_t alignment) {
  expect_request(bytes, alignment);
  return allocate_at_least_from(upstream, bytes, alignment);
}

/// As `allocate_upstream`, but null where memory has run out.
template <resource R>
[[nodiscard]] ASHLAR_COLD void* try_allocate_upstream(R& upstream, std::size_t bytes, std::size_t alignment) noexcept {
  ASHLAR_REQUIRE(detail::is_power_of_two(alignment), "alignment is not a power of two");
  return detail::is_valid_request(bytes, alignment) ? try_allocate_from(upstream, bytes, alignment) : nullptr;
}

/// A resource that refers to another: one pointer wide, copyable, shares what it refers to.
/// Has exactly the refinements of `R`. Lifetime: the referred-to resource outlives every copy.
template <resource R>
class resource_ref {
public:
  static constexpr bool is_thread_safe = thread_safe_resource<R>;
  static constexpr bool is_divisible = divisible_resource<R>;

  // Implicit, so that a resource can be passed where a reference to one is stored.
  resource_ref(R& r) noexcept : resource_(__builtin_addressof(r)) {}

  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    return resource_->allocate(bytes, alignment);
  }

  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    resource_->deallocate(p, bytes, alignment);
  }

  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires try_resource<R>
  {
    return resource_->try_allocate(bytes, alignment);
  }

  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment)
    requires at_least_resource<R>
  {
    return resource_->allocate_at_least(bytes, alignment);
  }

  [[nodiscard]] bool owns(const void* p) const noexcept
    requires owning_resource<R>
  {
    return resource_->owns(p);
  }

  void release() noexcept
    requires releasable_resource<R>
  {
    resource_->release();
  }

  void deallocate(void* p) noexcept
    requires self_describing_resource<R>
  {
    resource_->deallocate(p);
  }

  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires expanding_resource<R>
  {
    return resource_->try_expand(p, bytes, new_bytes, alignment);
  }

  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<R>
  {
    resource_->prefault(p, bytes);
  }

  [[nodiscard]] R& get() const noexcept { return *resource_; }

  [[nodiscard]] friend bool operator==(const resource_ref& a, const resource_ref& b) noexcept {
    return a.resource_ == b.resource_ || *a.resource_ == *b.resource_;
  }

private:
  R* resource_;
};

template <class R>
resource_ref(R&) -> resource_ref<R>;

}  // namespace ASHLAR_ABI
}  // namespace ashlar
