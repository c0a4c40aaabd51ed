// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options and policies that users give to pools and heaps, and the regions that heaps show.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI {

/// The number of empty slabs that a pool retains. A number `n` retains `n` slabs, and one more for every eight in use;
/// the others go to the upstream, by default a store that keeps what is requested again (`page_store`). If the upstream
/// takes neighbouring slabs back in one call, a large pool first collects the surplus of one region (`slab_source`).
/// Retained slabs stay resident; `trim` gives them back under every policy. A short first slab is not counted, and
/// stays until `trim`.
///
/// | policy | retains | use |
/// |---|---|---|
/// | a number, default 1 | that many, and one for every eight in use | most programs |
/// | `release_now` | none | least memory; two calls of the upstream for each crossing of a slab's boundary |
/// | `never_release` | all | a program that frees everything to allocate it again, or to end |
class retain_policy {
public:
  // Implicit, so that a number is a policy.
  constexpr retain_policy(std::size_t slabs) noexcept : retain_policy(slabs, true) {}

  [[nodiscard]] static constexpr retain_policy none() noexcept { return {0, false}; }
  [[nodiscard]] static constexpr retain_policy all() noexcept { return {max_size, false}; }

  /// Returns: the number of empty slabs to retain beside `in_use` others.
  [[nodiscard]] constexpr std::size_t retained(std::size_t in_use) const noexcept {
    const std::size_t slabs = beyond_one_ + 1;
    const std::size_t share = in_use / 8 * (1 - is_fixed_);
    return slabs > max_size - share ? max_size : slabs + share;
  }

  /// Returns: the surplus of empty slabs at which a pool gives them back, for an upstream with regions of `region`
  /// slabs.
  [[nodiscard]] constexpr std::size_t batch(std::size_t region) const noexcept { return is_fixed_ == 0 ? region : 1; }

  [[nodiscard]] friend constexpr bool operator==(const retain_policy&, const retain_policy&) noexcept = default;

private:
  constexpr retain_policy(std::size_t slabs, bool in_proportion) noexcept
      : beyond_one_(slabs - 1), is_fixed_(in_proportion ? 0 : 1) {}

  // The default is all zeros, for the .bss of constant-initialised pools; 0 slabs wrap to the largest number.
  std::size_t beyond_one_;
  std::size_t is_fixed_;  // 1 or 0
};

inline constexpr retain_policy release_now = retain_policy::none();
inline constexpr retain_policy never_release = retain_policy::all();

/// The cells and the retained memory of a `block_pool`.
struct block_pool_options {
  std::size_t cell_bytes = 0;      ///< at least 1; cells have exactly this size, rounded up to their alignment
  std::size_t cell_alignment = 0;  ///< a power of two; 0: the largest that divides `cell_bytes`, at most max_align_t's
  std::size_t slab_bytes = 0;      ///< a power of two with room for one cell at least; 0: chosen from the cell
  std::size_t max_count = max_size;
  retain_policy retain_slabs = 1;  ///< empty slabs to retain; also `release_now`, `never_release`
};

/// Limits of the cells and of the retained memory of a `pool_set` or a `shared_pool_set`.
struct pool_set_options {
  /// Larger blocks, in bytes, come from the upstream one by one. 0: 32 KiB, which is also the maximum.
  std::size_t max_cell_bytes = 0;
  /// Limit of the cells that a class asks the upstream for at once. A class whose limit is below one slab has no
  /// slabs; its blocks come from the upstream too.
  std::size_t max_growth_count = max_size;
  retain_policy retain_slabs = 1;  ///< empty slabs that each class retains; also `release_now`, `never_release`
};

/// Limits of a `heap`, `owner_heap`, `tiered_heap` or `local_heap`, all threads of a heap together.
struct heap_options {
  std::size_t max_bytes = max_size;                 ///< bytes held from the upstream at once, tables included
  std::size_t retain_bytes = std::size_t{8} << 20;  ///< bytes of free memory that stay until a larger peak is over
  std::uint32_t decay_ms = 500;                     ///< milliseconds that other free memory stays for reuse; 0: none
  std::size_t max_cached_cells = 4096;  ///< free cells of a size class that wait for a sweep; bounds a pause
};

/// The kind of a region of a heap.
enum class region_kind : std::uint8_t {
  head,   ///< metadata at the start of a segment; only the part in use is resident
  slab,   ///< cells of one size class
  span,   ///< a span that is one live block
  spare,  ///< a block recently freed: kept whole for the next of its length
  free,   ///< free slices that were in use before: they may be resident
  fresh,  ///< slices unused since they came from the system: not resident
  huge,   ///< an extent of the upstream: a live block, or one kept for the next of about its size
};

/// A region of a heap.
struct heap_region {
  region_kind kind = region_kind::fresh;
  const std::byte* start = nullptr;
  std::size_t bytes = 0;
  std::size_t size_class = 0;     ///< of a slab; 0: none
  std::size_t cell_bytes = 0;     ///< of a slab
  std::size_t capacity = 0;       ///< cells of a slab; blocks otherwise
  std::size_t live = 0;           ///< of these, allocated by callers
  std::size_t dropped_bytes = 0;  ///< of a slab's free cells: decommitted pages, not resident

  [[nodiscard]] static heap_region huge_block(const std::byte* p, std::size_t bytes, bool is_live) noexcept {
    return {.kind = region_kind::huge, .start = p, .bytes = bytes, .capacity = 1, .live = is_live ? 1u : 0u};
  }

  /// Returns: bytes allocated by callers: whole cells, spans or huge blocks, regardless of the requests.
  [[nodiscard]] std::size_t live_bytes() const noexcept { return live * block_bytes(); }
  /// Returns: bytes of free cells and blocks that are kept for others of their size.
  [[nodiscard]] std::size_t spare_bytes() const noexcept { return (capacity - live) * block_bytes(); }
  /// Returns: bytes of a slab outside of cells: in front of the first and after the last.
  [[nodiscard]] std::size_t waste_bytes() const noexcept {
    return kind == region_kind::slab ? bytes - capacity * cell_bytes : 0;
  }
  /// Returns: bytes of one cell or block.
  [[nodiscard]] std::size_t block_bytes() const noexcept { return kind == region_kind::slab ? cell_bytes : bytes; }
};

/// Policy, the default: throws `std::bad_alloc`, or as the upstream.
struct throw_when_exhausted {
  static constexpr bool throws = true;
};

/// Policy: returns a null pointer or handle.
struct null_when_exhausted {
  static constexpr bool throws = false;
};

namespace policy {

template <class E>
concept exhaustion = requires {
  { E::throws } -> std::convertible_to<bool>;
};

}  // namespace policy

static_assert(policy::exhaustion<throw_when_exhausted> && policy::exhaustion<null_when_exhausted>);

/// Policy, the default: `acquire` constructs an object, `release` destroys it.
struct construct_on_acquire {
  static constexpr bool keeps = false;
};

/// Reset, the default: an object stays as it was released.
struct no_reset {
  template <class T>
  void operator()(T&) const noexcept {}
};

/// Reset: calls a member function of the object, as in `reset_with<&message::clear>`.
template <auto Member>
struct reset_with {
  template <class T>
  void operator()(T& object) const noexcept(noexcept((object.*Member)())) {
    (object.*Member)();
  }
};

/// Policy: the first `acquire` of a slot constructs its object; `release` calls `reset(object)` and keeps the object.
/// Later acquisitions of the slot return it as `reset` left it, and ignore their arguments. Kept objects are destroyed
/// when their memory goes back. `Reset` is a noexcept callable for a `T&`.
template <class Reset = no_reset>
struct keep_constructed {
  static constexpr bool keeps = true;
  using reset_type = Reset;

  constexpr keep_constructed()
    requires std::default_initializable<Reset>
      : reset() {}
  constexpr explicit keep_constructed(Reset r) noexcept(std::is_nothrow_move_constructible_v<Reset>)
      : reset(std::move(r)) {}

  ASHLAR_NO_UNIQUE_ADDRESS Reset reset;
};

namespace policy {

/// Either of the two policies.
template <class L>
concept lifetime = requires {
  { L::keeps } -> std::convertible_to<bool>;
};

}  // namespace policy

static_assert(policy::lifetime<construct_on_acquire> && policy::lifetime<keep_constructed<>>);

/// The limit and the growth of a growing `object_pool`, an `intrusive_pool` or a `buffer_pool`.
struct object_pool_options {
  std::size_t max_count = (std::size_t{1} << 30) - 2;  ///< objects at once, never more than this; 0 counts as 1
  std::size_t growth_count = 0;                        ///< objects of one growth step; 0: as many as one slab has
};

namespace detail {
/// The most objects of a pool: 30 bits of a slot's word number them, and two numbers name none.
inline constexpr auto most_slots = static_cast<std::uint32_t>(object_pool_options().max_count);
}  // namespace detail

}  // namespace ashlar::ASHLAR_ABI
