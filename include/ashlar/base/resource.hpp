// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The resource concept that every component composes by, its refinements, and the reference that shares a resource.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>

namespace ashlar::ASHLAR_ABI {

struct block {
  void* data = nullptr;
  std::size_t size = 0;  ///< bytes

  [[nodiscard]] explicit operator bool() const noexcept { return data != nullptr; }
  [[nodiscard]] friend bool operator==(const block&, const block&) noexcept = default;

  /// Returns: whether `p` points to a byte of the block.
  [[nodiscard]] bool contains(const void* p) const noexcept {
    return address_of(p) - address_of(data) < size;  // unsigned: an address below wraps past the size
  }
};

/// Hands out and takes back blocks. `std::pmr::memory_resource` models it unchanged.
///     allocate(bytes, alignment)       returns a block, never null; throws `std::bad_alloc`
///     deallocate(p, bytes, alignment)  takes it back, with the same size and alignment
///     a == b                           each resource may deallocate blocks of the other
template <class R>
concept resource = requires(R& r, const R& a, void* p, std::size_t n) {
  { r.allocate(n, n) } -> std::same_as<void*>;
  r.deallocate(p, n, n);
  { a == a } -> std::convertible_to<bool>;
};

/// Refinement: `try_allocate` returns null when memory is exhausted.
template <class R>
concept try_resource = resource<R> && requires(R& r, std::size_t n) {
  { r.try_allocate(n, n) } noexcept -> std::same_as<void*>;
};

/// Refinement: `owns(p)` tells whether the resource handed out the address.
template <class R>
concept owning_resource = resource<R> && requires(const R& r, const void* p) {
  { r.owns(p) } noexcept -> std::same_as<bool>;
};

/// Refinement: `release()` takes back all blocks at once.
template <class R>
concept releasable_resource = resource<R> && requires(R& r) {
  { r.release() } noexcept;
};

/// Whether `r.deallocate(p)` accepts every block of the resource. A pool with a `deallocate(cell)` for cells only, and
/// neither for larger blocks nor for null, has a member `is_self_describing` that is false.
template <class R>
inline constexpr bool enable_self_describing = true;
template <class R>
  requires requires { R::is_self_describing; }
inline constexpr bool enable_self_describing<R> = R::is_self_describing;

/// Refinement: `deallocate(p)` finds the size of the block; it does nothing at every level if `p` is null.
template <class R>
concept self_describing_resource = resource<R> && enable_self_describing<R> && requires(R& r, void* p) {
  { r.deallocate(p) } noexcept;
};

/// Refinement: `try_expand` grows or shrinks a block in place, or returns false.
template <class R>
concept expanding_resource = resource<R> && requires(R& r, void* p, std::size_t n) {
  { r.try_expand(p, n, n, n) } noexcept -> std::same_as<bool>;
};

/// Refinement: `prefault` makes fresh memory resident before its first access, if that is cheaper than page faults.
template <class R>
concept prefaulting_resource = resource<R> && requires(R& r, void* p, std::size_t n) {
  { r.prefault(p, n) } noexcept;
};

/// Refinement: `allocate_at_least` returns the actual size of a block. All of it is usable, and `deallocate` accepts
/// any size from the requested to the actual one.
template <class R>
concept at_least_resource = resource<R> && requires(R& r, std::size_t n) {
  { r.allocate_at_least(n, n) } -> std::same_as<block>;
};

/// Refinement: `allocate_run(n)` hands out `n` neighbouring cells; `deallocate_run` takes them back with the same `n`.
template <class R>
concept run_resource = resource<R> && requires(R& r, const R& c, void* p, std::size_t n) {
  { r.allocate_run(n) } -> std::same_as<void*>;
  { r.deallocate_run(p, n) } noexcept;
  { r.allocate_at_least(n).count } -> std::convertible_to<std::size_t>;
  { c.cell_bytes() } noexcept -> std::same_as<std::size_t>;
  { c.cell_alignment() } noexcept -> std::same_as<std::size_t>;
};

/// Whether any thread may use the resource at any time: a member `is_thread_safe` that is true. Specialise it for a
/// resource of another library.
template <class R>
inline constexpr bool enable_thread_safe = false;
template <class R>
  requires requires { R::is_thread_safe; }
inline constexpr bool enable_thread_safe<R> = R::is_thread_safe;

/// Refinement: any thread may use the resource at any time.
template <class R>
concept thread_safe_resource = resource<R> && enable_thread_safe<R>;

/// Refinement: all objects of the type are the same resource in the whole process. Such a type has no data, is default
/// constructible and has a member `is_process_wide` that is true. A type that refers to an instance or to data of one
/// thread does not qualify: a stateless allocator over it would free to a resource other than it allocated from.
template <class R>
concept process_wide_resource =
    resource<R> && std::is_empty_v<R> && std::default_initializable<R> && requires { requires R::is_process_wide; };

/// The smallest part of a block that the resource takes back, in bytes: a member `least_part_bytes`. 0, the default:
/// each block comes back whole, with the size and alignment of its allocation.
template <class R>
inline constexpr std::size_t least_part = 0;
template <class R>
  requires requires { R::least_part_bytes; }
inline constexpr std::size_t least_part<R> = R::least_part_bytes;

/// Refinement: `deallocate` takes back a block in parts and in any order. Size and alignment of a part are multiples of
/// `least_part<R>`, and so is its distance from the start of the block. Neighbouring parts, also of adjacent blocks,
/// may come back as one. Pools ask such a resource for several slabs at once, if a slab is a part. Adaptors that record
/// whole blocks do not forward this refinement.
template <class R>
concept divisible_resource = resource<R> && least_part<R> != 0;

/// Whether the resource keeps the blocks that it takes back for the next request: a member `keeps_blocks` that is true.
/// Pools ask such a resource for one slab at a time.
template <class R>
inline constexpr bool keeps_blocks = false;
template <class R>
  requires requires { R::keeps_blocks; }
inline constexpr bool keeps_blocks<R> = R::keeps_blocks;

/// Returns: a block, or null when `r` is exhausted, which `r` reports by null or by an exception.
template <resource R>
[[nodiscard]] ASHLAR_INLINE void* try_allocate_from(R& r, std::size_t bytes, std::size_t alignment) noexcept {
  if constexpr (try_resource<R>) {
    return r.try_allocate(bytes, alignment);
  } else {
    ASHLAR_TRY { return r.allocate(bytes, alignment); }
    ASHLAR_CATCH_ALL { return nullptr; }
  }
}

/// Returns: `p`, unless it is null. Throws: `std::bad_alloc`.
[[nodiscard]] ASHLAR_INLINE void* block_or_throw(void* p, std::size_t bytes, std::size_t alignment) {
  if (ASHLAR_UNLIKELY(p == nullptr)) throw_bad_alloc(bytes, alignment);
  return p;
}

/// Returns: a block of `r`, never null. Throws: `std::bad_alloc` if `r.try_allocate` returns null.
template <try_resource R>
[[nodiscard]] ASHLAR_INLINE void* allocate_or_throw(R& r, std::size_t bytes, std::size_t alignment) {
  return block_or_throw(r.try_allocate(bytes, alignment), bytes, alignment);
}

/// Returns: a block of at least `bytes` bytes, with its actual size if `r` is an `at_least_resource`.
/// Throws: any exception of `r.allocate`.
template <resource R>
[[nodiscard]] ASHLAR_INLINE block allocate_at_least_from(R& r, std::size_t bytes, std::size_t alignment) {
  if constexpr (at_least_resource<R>) return r.allocate_at_least(bytes, alignment);
  else return {r.allocate(bytes, alignment), bytes};
}

/// The answer of a call that finds no memory.
enum failure { or_throw, or_null };

/// Returns: null, unless it throws `std::bad_alloc`.
template <failure Failure>
[[nodiscard]] void* failed(std::size_t bytes, std::size_t alignment) noexcept(Failure == or_null) {
  if constexpr (Failure == or_throw) throw_bad_alloc(bytes, alignment);
  else return nullptr;
}

/// Returns: a block of `r`; null when `r` is exhausted only if `Failure` is `or_null`. Throws: any exception of `r`.
template <failure Failure, resource R>
[[nodiscard]] ASHLAR_INLINE void* allocate_from(R& r, std::size_t bytes,
                                                std::size_t alignment) noexcept(Failure == or_null) {
  if constexpr (Failure == or_throw) return r.allocate(bytes, alignment);
  else return try_allocate_from(r, bytes, alignment);
}

/// Effects: ends the process if the alignment is not a power of two; for requests that a resource forwards unchanged.
/// Throws: `std::bad_alloc` if no block can be as large.
inline void expect_request(std::size_t bytes, std::size_t alignment) {
  ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
  if (!is_valid_request(bytes, alignment)) throw_bad_alloc(bytes, alignment);
}

/// Returns: a block of `upstream`, for a resource that cannot serve the request itself. Expects: `alignment` is a power
/// of two; this function checks it for every `upstream`. Throws: `std::bad_alloc`, or any exception of `upstream`.
template <resource R>
[[nodiscard]] ASHLAR_COLD void* allocate_upstream(R& upstream, std::size_t bytes, std::size_t alignment) {
  expect_request(bytes, alignment);
  return upstream.allocate(bytes, alignment);
}

/// As `allocate_upstream`, with the actual size of the block.
template <resource R>
[[nodiscard]] ASHLAR_COLD block allocate_upstream_at_least(R& upstream, std::size_t bytes, std::size_t alignment) {
  expect_request(bytes, alignment);
  return allocate_at_least_from(upstream, bytes, alignment);
}

/// As `allocate_upstream`, but null when memory is exhausted.
template <resource R>
[[nodiscard]] ASHLAR_COLD void* try_allocate_upstream(R& upstream, std::size_t bytes, std::size_t alignment) noexcept {
  ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
  return is_valid_request(bytes, alignment) ? try_allocate_from(upstream, bytes, alignment) : nullptr;
}

namespace detail {

/// Returns: whether blocks of `bytes`, and multiples of that, may come back to `R` in parts of that size.
template <resource R>
[[nodiscard]] constexpr bool takes_parts_of(std::size_t bytes) noexcept {
  if constexpr (divisible_resource<R>) return bytes % least_part<R> == 0;
  else return false;
}

}  // namespace detail

/// A copyable reference to a resource, one pointer wide, with exactly the refinements of `R`.
/// Lifetime: the resource outlives every copy.
template <resource R>
class resource_ref {
public:
  static constexpr bool is_thread_safe = thread_safe_resource<R>;
  static constexpr std::size_t least_part_bytes = least_part<R>;

  // Implicit, so that a resource converts where a reference is stored.
  constexpr resource_ref(R& r) noexcept : resource_(__builtin_addressof(r)) {}

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

  [[nodiscard]] constexpr R& get() const noexcept { return *resource_; }

  [[nodiscard]] friend bool operator==(const resource_ref& a, const resource_ref& b) noexcept {
    return a.resource_ == b.resource_ || *a.resource_ == *b.resource_;
  }

private:
  R* resource_;
};

template <class R>
resource_ref(R&) -> resource_ref<R>;

/// Equivalent of `std::allocation_result` of C++23: memory at `ptr` for `count` objects, all of it usable.
ASHLAR_STD_ALLOCATION_RESULT(template <class Pointer, class SizeType = std::size_t> struct allocation_result {
  Pointer ptr;
  SizeType count;
});

}  // namespace ashlar::ASHLAR_ABI
