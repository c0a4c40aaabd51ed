// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An arena in one piece that grows by moving: blocks are named by references of 32 bits, which stay valid.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

/// Growth of an offset_arena, which doubles.
struct offset_arena_options {
  std::size_t initial_bytes = 1024;  ///< of the first memory
  std::size_t max_bytes = max_size;  ///< limit of the bytes held; never more than 2^32 - 1 units
};

/// Blocks of any size, one behind the other, for objects that refer to each other by half a pointer: the clauses of a
/// solver, the nodes of a tree.
///
///     | block | freed | block | block |   free   |      from level `checked` on with a mark in front of each block
///     0                               top        capacity
///
/// Growth moves all blocks, as bytes: it invalidates pointers, never references. A freed block is counted in
/// `wasted_bytes()`; only the last one is used again. To compact, copy what lives into a second arena and assign that
/// to the first. A reference is a number of units: with units of 4 bytes they reach 16 GiB.
///
/// Fast path at level `fast`: an addition and a comparison; `deref` is a multiplication and an addition. From level
/// `checked` on `deref` reports references to no live block, except for rare collisions.
/// Invariant: `wasted_bytes() <= used_bytes() <= held_bytes() <= max_bytes`. Complexity: O(1) amortised;
/// O(used bytes) and one upstream call to grow. Thread safety: none.
template <std::size_t UnitBytes, resource Upstream>
class offset_arena {
  static_assert(is_power_of_two(UnitBytes) && UnitBytes >= sizeof(std::uint32_t));
  static constexpr std::size_t mark_units = checking_level >= checking::checked ? 1 : 0;
  static constexpr std::size_t most_units = 0xFFFF'FFFF;

public:
  static constexpr std::size_t unit_bytes = UnitBytes;  ///< alignment of each block

  /// Names a block until it is freed; in the arena that it comes from, or that this one was moved to.
  enum class reference : std::uint32_t { null = most_units };

  offset_arena() : offset_arena(offset_arena_options{}) {}
  explicit offset_arena(const offset_arena_options& options, Upstream upstream = Upstream())
      : upstream_(std::move(upstream)), options_(options) {}
  explicit offset_arena(Upstream upstream) : offset_arena(offset_arena_options{}, std::move(upstream)) {}
  /// Effects: `other` is empty afterwards; its references are of this arena.
  offset_arena(offset_arena&& other) noexcept
      : upstream_(std::move(other.upstream_)), options_(other.options_), now_(std::exchange(other.now_, {})) {}
  offset_arena& operator=(offset_arena&& other) noexcept {
    offset_arena taken(std::move(other));
    std::swap(upstream_, taken.upstream_);
    std::swap(options_, taken.options_);
    std::swap(now_, taken.now_);
    return *this;
  }
  ~offset_arena() { release(); }

  /// Returns: a block of uninitialised bytes. Throws: `std::bad_alloc` beyond the limit; as the upstream.
  [[nodiscard]] ASHLAR_INLINE reference allocate(std::size_t bytes) { return take<or_throw>(bytes); }
  /// As `allocate`, or null.
  [[nodiscard]] ASHLAR_INLINE reference try_allocate(std::size_t bytes) noexcept { return take<or_null>(bytes); }

  /// Effects: counts a block of at least `bytes` bytes as wasted; the last block makes room for the next one.
  void deallocate(reference block, std::size_t bytes) noexcept {
    expect_live(block);
    const std::size_t first = index_of(block), units = units_for(bytes);
    ASHLAR_EXPECTS(units <= now_.top - first, "freed a block of an offset_arena with more bytes than it has");
    if constexpr (mark_units != 0) write_mark(first, ~mark_of(first));
    if (first + units == now_.top) {
      now_.top = first - mark_units;
      detail::mark_free(at(now_.top), (units + mark_units) * UnitBytes);
    } else {
      now_.wasted += units + mark_units;
    }
  }

  /// Returns: the address of a block, until the arena grows. Expects: the block is live.
  template <class T = void>
  [[nodiscard]] ASHLAR_INLINE T* deref(reference block) noexcept {
    return static_cast<T*>(address_in<T>(block));
  }
  template <class T = void>
  [[nodiscard]] ASHLAR_INLINE const T* deref(reference block) const noexcept {
    return static_cast<const T*>(address_in<T>(block));
  }

  /// Returns: the reference of a block at `p`. Expects: `p` is its address now.
  [[nodiscard]] reference reference_of(const void* p) const noexcept {
    const auto from = static_cast<std::size_t>(static_cast<const std::byte*>(p) - now_.memory);
    const auto found = static_cast<reference>(from / UnitBytes);
    expect_live(found);
    return found;
  }

  /// Effects: makes room for `bytes` bytes more, in as many blocks as their marks leave. Throws: as `allocate`.
  void reserve(std::size_t bytes) {
    if (units_for(bytes) > now_.capacity - now_.top) static_cast<void>(grow<or_throw>(units_for(bytes)));
  }

  /// Effects: frees all blocks and retains the memory.
  void reset() noexcept {
    detail::mark_free(now_.memory, now_.capacity * UnitBytes);
    now_.top = now_.wasted = 0;
    now_.secret = detail::mixed(now_.secret);
  }
  /// Effects: frees all blocks and gives the memory back.
  void release() noexcept {
    reset();
    give_back();
    now_.memory = nullptr, now_.capacity = 0;
  }

  /// Bytes of blocks, freed ones included, but for the last.
  [[nodiscard]] std::size_t used_bytes() const noexcept { return now_.top * UnitBytes; }
  /// Bytes of freed blocks that no other one uses: above a fifth of `used_bytes()` it is time to compact.
  [[nodiscard]] std::size_t wasted_bytes() const noexcept { return now_.wasted * UnitBytes; }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return now_.capacity * UnitBytes; }
  [[nodiscard]] Upstream& upstream_resource() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return upstream_; }
  [[nodiscard]] const offset_arena_options& options() const noexcept { return options_; }
  [[nodiscard]] bool invariant() const noexcept {
    return now_.wasted <= now_.top && now_.top <= now_.capacity && now_.capacity <= limit() &&
           (now_.memory == nullptr) == (now_.capacity == 0);
  }

private:
  static constexpr std::size_t alignment = std::max(UnitBytes, alignof(std::max_align_t));
  static constexpr std::size_t least_moved_bytes = 1024 * 1024;  // cheaper to map at another place than to copy

  // In units, but for the memory. Each mark is a word of the secret and its place.
  struct contents {
    std::byte* memory = nullptr;
    std::size_t top = 0;
    std::size_t capacity = 0;
    std::size_t wasted = 0;
    std::uint64_t secret = 0;
  };

  [[nodiscard]] static constexpr std::size_t units_for(std::size_t bytes) noexcept {
    return bytes / UnitBytes + (bytes % UnitBytes != 0 || bytes == 0);
  }
  [[nodiscard]] static constexpr std::size_t index_of(reference block) noexcept {
    return static_cast<std::uint32_t>(block);
  }
  [[nodiscard]] std::size_t limit() const noexcept { return std::min(options_.max_bytes / UnitBytes, most_units); }
  [[nodiscard]] ASHLAR_INLINE std::byte* at(std::size_t index) const noexcept {
    return now_.memory + index * UnitBytes;
  }

  template <class T>
  [[nodiscard]] ASHLAR_INLINE void* address_in(reference block) const noexcept {
    if constexpr (!std::is_void_v<T>)
      static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= UnitBytes,
                    "moved as bytes, at a unit's alignment");
    expect_live(block);
    return at(index_of(block));
  }

  template <failure Failure>
  [[nodiscard]] ASHLAR_INLINE reference take(std::size_t bytes) noexcept(Failure == or_null) {
    const std::size_t units = units_for(bytes) + mark_units;
    if (ASHLAR_UNLIKELY(units > now_.capacity - now_.top) && !grow<Failure>(units)) return reference::null;
    const std::size_t first = now_.top + mark_units;
    detail::mark_live(at(now_.top), units * UnitBytes);
    if constexpr (mark_units != 0) write_mark(first, mark_of(first));
    now_.top += units;
    return static_cast<reference>(first);
  }

  /// Returns: whether there is room for `units` units more.
  template <failure Failure>
  [[nodiscard]] ASHLAR_COLD bool grow(std::size_t units) noexcept(Failure == or_null) {
    if (units > limit() - now_.top)
      return failed<Failure>(std::min(units, max_size / UnitBytes) * UnitBytes, alignment) != nullptr;
    const std::size_t wished = std::max(2 * now_.capacity, options_.initial_bytes / UnitBytes);
    const std::size_t wanted = std::max(now_.top + units, std::min(wished, limit()));
    std::byte* const memory = moved<Failure>(wanted * UnitBytes);
    if (memory == nullptr) return false;
    if (now_.memory == nullptr) now_.secret = detail::mixed(address_of(this) ^ now_.secret);
    now_.memory = memory;
    now_.capacity = wanted;
    detail::mark_free(at(now_.top), (wanted - now_.top) * UnitBytes);
    return true;
  }

  /// Returns: the new place of all blocks, or null.
  template <failure Failure>
  [[nodiscard]] std::byte* moved(std::size_t bytes) noexcept(Failure == or_null) {
    void* to = nullptr;
    if constexpr (requires { upstream_.try_move(to, bytes, bytes, alignment); }) {
      if (held_bytes() >= least_moved_bytes) {
        detail::mark_readable(now_.memory, held_bytes());
        to = upstream_.try_move(now_.memory, held_bytes(), bytes, alignment);
      }
    }
    if (to == nullptr) {
      to = allocate_from<Failure>(upstream_, bytes, alignment);
      if (to == nullptr || now_.memory == nullptr) return static_cast<std::byte*>(to);
      std::memcpy(to, now_.memory, used_bytes());
      give_back();
    }
    return static_cast<std::byte*>(to);
  }

  void give_back() noexcept {
    if (now_.memory == nullptr) return;
    detail::mark_live(now_.memory, held_bytes());
    upstream_.deallocate(now_.memory, held_bytes(), alignment);
  }

  [[nodiscard]] std::uint32_t mark_of(std::size_t first) const noexcept {
    return static_cast<std::uint32_t>(detail::mixed(now_.secret ^ first));
  }
  void write_mark(std::size_t first, std::uint32_t mark) noexcept { std::memcpy(at(first - 1), &mark, sizeof mark); }
  [[nodiscard]] bool is_marked(std::size_t first) const noexcept {
    if (first - 1 >= now_.top) return false;
    std::uint32_t mark = 0;
    std::memcpy(&mark, at(first - 1), sizeof mark);
    return mark == mark_of(first);
  }
  ASHLAR_INLINE void expect_live(reference block) const noexcept {
    if constexpr (mark_units != 0) expect_marked(block);
  }
  ASHLAR_NOINLINE void expect_marked(reference block) const noexcept {
    ASHLAR_REQUIRE(is_marked(index_of(block)), "gave an offset_arena a reference to no live block of it");
  }

  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
  offset_arena_options options_;
  contents now_;
};

}  // namespace ashlar::ASHLAR_ABI
