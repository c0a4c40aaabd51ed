// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool of equal cells whose size is chosen at run time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slab/cached_cells.hpp>
#include <ashlar/detail/slab/cell_watch.hpp>
#include <ashlar/detail/slab/free_check.hpp>
#include <ashlar/detail/slab/large_blocks.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_set.hpp>
#include <ashlar/detail/slab/slab_store.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

/// A run of neighbouring cells, all of them usable by the caller.
struct cell_run {
  void* cells = nullptr;
  std::size_t count = 0;
};

}  // namespace ashlar::ASHLAR_ABI

namespace ashlar::ASHLAR_ABI::detail {

/// The calls of `block_pool` and `fixed_block_pool`, with their contracts: equal cells in slabs from `Upstream`.
/// `Geometry{}.get()` is the `slab_geometry`, a run-time value (`block_pool`) or a constant (`fixed_block_pool`).
///
///     deallocate -> [ cached cells ] -> on overflow: [ slab bitmaps ] -> empty slabs -> upstream
///     allocate   <- [ cached cells ] <- [ cell batch: up to 64 cells ] <- [ slab bitmaps ] <- new slab <- upstream
///
/// A cell costs its own bytes and one bit, a pool beyond its first, short slab 1024 addresses for its `cached_cells`.
/// Their overflow means a bulk free: they return to the bitmaps (`slab_store`), and later frees set bits only, so that
/// empty slabs are found.
/// No free cell is written to. Invariant: `live() == taken - cached`.
/// Fast path: `allocate` and `deallocate` are two loads, a predictable branch and one or two stores, none to the cell.
template <class Geometry, resource Upstream>
class basic_block_pool : private Geometry {
public:
  using cell_run = ashlar::cell_run;
  static constexpr bool is_self_describing = false;  // `deallocate(cell)` takes cells only

  constexpr basic_block_pool(const Geometry& geometry, std::size_t max_count, retain_policy retain_slabs,
                             Upstream upstream = {})
      : Geometry(geometry), inverted_max_count_(~max_count), store_(retain_slabs, std::move(upstream)) {}

  basic_block_pool(const basic_block_pool&) = delete;  // cells point into it: what shall move holds a std::unique_ptr
  basic_block_pool& operator=(const basic_block_pool&) = delete;
  constexpr ~basic_block_pool() {
    if constexpr (checking_level >= checking::checked)
      if (live() != 0) report_live();
    release();
  }

  /// Returns: a cell. Throws: `std::bad_alloc`, or as the upstream. Complexity: amortised O(1); one call in up to 64
  /// searches a slab's bitmap, O(slab_bytes / cell_bytes / 64) at worst.
  [[nodiscard]] ASHLAR_INLINE void* allocate() { return take<or_throw>(); }

  /// Returns: a cell, or null if `max_count` are live or the upstream has no memory left.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate() noexcept { return take<or_null>(); }

  /// Effects: takes a cell back. Expects: a live cell of this pool. Complexity: O(1), except for one free per 256 KiB
  /// of cells, which empties the cached cells.
  ASHLAR_INLINE void deallocate(void* cell) noexcept { take_back(cell); }

  /// Returns: a cell if the request fits one, else a block from the upstream. Throws: `std::bad_alloc`, or as the
  /// upstream. Expects: `alignment` is a power of two.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    return fits(bytes, alignment)
               ? with_slack(geometry(), allocate(), bytes)
               : outsized_.template take<or_throw>(*this, geometry(), store_.upstream(), bytes, alignment);
  }

  /// As `allocate(bytes, alignment)`, but returns null when memory has run out.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return fits(bytes, alignment)
               ? with_slack(geometry(), try_allocate(), bytes)
               : outsized_.template take<or_null>(*this, geometry(), store_.upstream(), bytes, alignment);
  }

  /// As `allocate(bytes, alignment)`. Returns: also the size of the block: the size of the whole cell, except at level
  /// `hardened`, which watches the excess bytes.
  [[nodiscard]] ASHLAR_INLINE block allocate_at_least(std::size_t bytes, std::size_t alignment) {
    if (!fits(bytes, alignment)) return outsized_.take_at_least(*this, geometry(), store_.upstream(), bytes, alignment);
    const std::size_t usable = usable_of_cell(geometry(), bytes);
    return {with_slack(geometry(), allocate(), usable), usable};
  }

  /// Effects: takes a cell or a larger block back. Expects: `p` was allocated with this `bytes` and `alignment`, or
  /// `bytes` came from `allocate_at_least`.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if (!fits(bytes, alignment)) return deallocate_larger(p, {bytes, alignment});
    take_back(p, bytes);
  }

  /// Returns: memory for `n` neighbouring cells, each of which counts as live: in one slab up to `longest_run`, else
  /// from the upstream. Throws: `std::bad_alloc`, or as the upstream. Complexity: O(1): at most 24 bitmap words are
  /// searched, then the upstream is asked for a slab.
  [[nodiscard]] void* allocate_run(std::size_t n) { return allocate_at_least(n).cells; }

  /// As `allocate_run`, but returns null when memory has run out.
  [[nodiscard]] void* try_allocate_run(std::size_t n) noexcept {
    if (n <= 1) return try_allocate();
    if (!is_run(n)) return try_allocate_upstream(store_.upstream(), array_bytes(n), geometry().cell_alignment());
    return take_run<or_null>(n);
  }

  /// As `allocate_run`. Returns: also the number of cells; `deallocate_run` accepts any number from `n` to that.
  [[nodiscard]] cell_run allocate_at_least(std::size_t n) {
    if (n <= 1) return {allocate(), 1};
    if (!is_run(n)) return {allocate_upstream(store_.upstream(), array_bytes(n), geometry().cell_alignment()), n};
    return {take_run<or_throw>(n), run_length(n)};
  }

  /// Effects: takes a run back. Expects: a run of `allocate_run(n)`, or of `allocate_at_least` with an `n` in its
  /// range. Complexity: O(1); from level `checked` on expected O(log slabs).
  void deallocate_run(void* run, std::size_t n) noexcept {
    if (n <= 1) return deallocate(run);
    if constexpr (checking_level >= checking::checked) check_run(run, n);
    if (!is_run(n)) return deallocate_larger(run, {array_bytes(n), geometry().cell_alignment()});
    store_.retire_run(geometry(), run, run_length(n));
  }

  /// Effects: fills `cells` with cells, all or none. Throws: `std::bad_alloc`.
  void allocate_many(std::span<void*> cells) {
    const std::size_t taken = try_allocate_many(cells);
    if (ASHLAR_LIKELY(taken == cells.size())) return;
    deallocate_many(cells.first(taken));
    throw_bad_alloc(cell_bytes(), geometry().cell_alignment());
  }

  /// Effects: fills `cells` from its start, until memory runs out. Returns: the number of cells.
  [[nodiscard]] std::size_t try_allocate_many(std::span<void*> cells) noexcept {
    std::size_t taken = take_cached(cells);
    while (taken != cells.size()) {
      void* const cell = take_cold<or_null>();
      if (cell == nullptr) break;
      cells[taken++] = cell;
      taken += take_cached(cells.subspan(taken));
    }
    return taken;
  }

  /// Effects: takes all `cells` back. A sequence of neighbours, up or down, costs little more than one cell.
  /// Expects: as `deallocate`, of each.
  void deallocate_many(std::span<void* const> cells) noexcept {
    if constexpr (!decltype(cached_)::takes_freed) {
      for (void* const cell : cells) deallocate(cell);
    } else {
      gathered_cells<slab> neighbours;
      for (void* const cell : cells.subspan(cached_.put_many(cells))) store_.gather(geometry(), cell, neighbours);
      store_.give(geometry(), neighbours);
    }
  }

  /// Returns: whether `p` points into a cell of this pool, live or free. Complexity: expected O(log slabs).
  [[nodiscard]] bool owns(const void* p) const noexcept { return slabs_held().find(geometry(), p) != nullptr; }

  [[nodiscard]] std::size_t cell_bytes() const noexcept { return geometry().cell_bytes(); }
  /// Returns: the distance of neighbouring cells in bytes: `cell_bytes()`, plus the guard at level `hardened`.
  [[nodiscard]] ASHLAR_INLINE std::size_t cell_stride() const noexcept { return geometry().cell_stride(); }
  [[nodiscard]] std::size_t cell_alignment() const noexcept { return geometry().cell_alignment(); }
  [[nodiscard]] std::size_t slab_bytes() const noexcept { return geometry().slab_bytes(); }
  /// Returns: the number of cells in the held slabs, at most `max_count`.
  [[nodiscard]] std::size_t capacity() const noexcept { return min(slabs_held().capacity(), max_count()); }
  /// Returns: the number of live cells.
  [[nodiscard]] std::size_t live() const noexcept { return slabs_held().taken() - cached_.size(); }
  /// Returns: the number of slabs held, empty ones included.
  [[nodiscard]] std::size_t slabs() const noexcept { return slabs_held().slabs(); }
  /// Returns: the number of blocks so far that no cell could hold, and that came from the upstream.
  [[nodiscard]] std::size_t outsized_blocks() const noexcept { return outsized_.get(); }
  /// Returns: bytes of all slabs, and of the addresses of cached cells.
  [[nodiscard]] std::size_t held_bytes() const noexcept {
    return store_.held_bytes(geometry()) + (has_own_slots() ? slots_bytes() : 0);
  }
  /// Returns: bytes of the empty slabs, without a short first one.
  [[nodiscard]] std::size_t retained_bytes() const noexcept { return slabs_held().empty_slabs() * slab_bytes(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return store_.upstream(); }

  /// Effects: holds slabs for `cells` live cells, until `trim`. Throws: as `allocate`, but keeps its gains.
  void reserve(std::size_t cells) {
    std::size_t bytes = 0;
    const bool fits_memory = checked_mul(cells, cell_bytes(), bytes) && bytes <= max_block_bytes;
    if (!fits_memory || cells > max_count()) throw_bad_alloc(bytes, geometry().cell_alignment());
    store_.reserve(geometry(), this, cells);
    if (slabs() != 0) find_slots();
  }

  /// Effects: retains empty slabs by `policy` from now on; surplus ones go back at once.
  void retain(retain_policy policy) noexcept { store_.retain(geometry(), policy); }

  /// Effects: gives empty slabs back except for `retain_bytes` of them, and orders the free cells by address: the
  /// lowest are handed out first. Returns: bytes given back. Complexity: O(slabs + cached cells).
  std::size_t trim(std::size_t retain_bytes = 0) noexcept {
    const std::size_t before = held_bytes();  // a flush may give some back already
    store_.unreserve();
    do flush_caches();
    while (cached_.size() != 0);  // the upstream may use this pool when a slab goes back
    leave_short_slots();
    store_.shrink(geometry(), retain_bytes / slab_bytes());
    if (slabs() == 0) give_slots_back();
    const std::size_t after = held_bytes();  // slots may be found that were refused
    if (slabs() != 0) find_slots();
    return before - min(before, after);
  }

  /// Effects: takes all cells back, live or not, without a report, and gives all slabs back. Larger blocks stay.
  void release() noexcept {
    if constexpr (has_guards) flush_caches();  // so that cached cells are checked, too
    leave_short_slots();
    store_.release(geometry());
    give_slots_back();
  }

  /// Effects: calls `f(void* cell)` for every live cell, in ascending addresses. Expects: `f` neither allocates from
  /// this pool nor frees to it. Complexity: O(capacity).
  template <class F>
  void for_each_live(F f) {
    flush_caches();
    slabs_held().for_each([&](slab& each) {
      each.free_cells().for_each_clear(
          [&](std::size_t cell) { f(static_cast<void*>(each.cells + cell * cell_stride())); });
    });
  }

  [[nodiscard]] friend bool operator==(const basic_block_pool& a, const basic_block_pool& b) noexcept {
    return &a == &b;
  }

  /// Complexity: O(slabs and their bitmap words, cached cells).
  [[nodiscard]] bool invariant() const noexcept {
    const slab_set& held = slabs_held();
    return held.invariant() && cached_.invariant(cell_stride()) && live() <= max_count() &&
           (cached_.in_batch() == 0 || owns(cached_.batch().base)) && held.taken() >= cached_.size();
  }

private:
  [[nodiscard]] ASHLAR_INLINE constexpr const slab_geometry& geometry() const noexcept { return Geometry::get(); }

  [[nodiscard]] ASHLAR_INLINE bool fits(std::size_t bytes, std::size_t alignment) const noexcept {
    return geometry().fits(bytes, alignment);
  }

  [[nodiscard]] std::size_t max_count() const noexcept { return ~inverted_max_count_; }
  [[nodiscard]] const slab_set& slabs_held() const noexcept { return store_.slabs(); }
  [[nodiscard]] ASHLAR_INLINE void* handed_out(void* cell) noexcept { return store_.hand_out(geometry(), cell); }

  template <failure Failure>
  [[nodiscard]] ASHLAR_INLINE void* take() noexcept(Failure == or_null) {
    if (ASHLAR_LIKELY(!cached_.is_array_empty())) return cached_.pop();
    if (ASHLAR_LIKELY(!cached_.is_batch_empty())) return handed_out(cached_.take_from_batch(cell_stride()));
    return take_cold<Failure>();
  }

  // Takes back a cell freed with or without a size; from `checked` on, `cell` may be any address.
  ASHLAR_INLINE void take_back(void* cell, [[maybe_unused]] std::size_t bytes = unsized) noexcept {
    if constexpr (checking_level < checking::checked) return retire(cell);
    else if (ASHLAR_UNLIKELY(!retire_at_once(site(), store_, cell, bytes))) take_back_slow(cell, bytes);
  }

  ASHLAR_INLINE void retire(void* cell) noexcept {
    mark_free(cell, cell_bytes());
    if (ASHLAR_LIKELY(cached_.has_room())) cached_.put(cell);
    else if (ASHLAR_LIKELY(cached_.is_array_empty())) store_.retire(geometry(), cell);
    else deallocate_overflowing(cell);
  }

  [[nodiscard]] std::size_t take_cached(std::span<void*> cells) noexcept {
    const std::size_t taken = cached_.take_many(cells, cell_stride());
    if constexpr (has_guards)
      for (void* const cell : cells.first(taken)) static_cast<void>(handed_out(cell));
    return taken;
  }

  [[nodiscard]] bool is_run(std::size_t n) const noexcept { return is_run_of_slab(n, geometry().least_capacity()); }

  // Returns: the bytes of `n` cells, saturated on overflow.
  [[nodiscard]] std::size_t array_bytes(std::size_t n) const noexcept {
    std::size_t bytes = 0;
    return checked_mul(n, cell_bytes(), bytes) ? bytes : max_size;
  }

  // Returns: whether `cells` more cells may be live. Cached cells do not count.
  [[nodiscard]] bool may_have(std::size_t cells) noexcept {
    if (max_count() - slabs_held().taken() < cells) flush_caches();
    return max_count() - slabs_held().taken() >= cells;
  }

  template <failure Failure>
  [[nodiscard]] void* take_run(std::size_t n) noexcept(Failure == or_null) {
    while (may_have(run_length(n))) {
      if (void* const run = store_.take_run(geometry(), run_length(n)); run != nullptr) return run;
      if (!grow<Failure>()) return nullptr;
    }
    return failed<Failure>(array_bytes(n), geometry().cell_alignment());
  }

  void check_run(void* run, std::size_t n) const noexcept {
    check_run_free(site(), store_.upstream(), run, is_run(n) ? run_length(n) : n);
  }

  template <failure Failure>
  [[nodiscard]] ASHLAR_COLD void* take_cold() noexcept(Failure == or_null) {
    if (slabs_held().taken() >= max_count()) return failed<Failure>(cell_bytes(), geometry().cell_alignment());
    if (slabs_held().has_free()) return refill();
    if (!grow<Failure>()) return nullptr;
    return take<Failure>();  // from the start: the upstream may have used this pool in the meantime
  }

  template <failure Failure>
  [[nodiscard]] bool grow() noexcept(Failure == or_null) {
    if (!store_.template grow<Failure>(geometry(), this)) return false;
    find_slots();
    return true;
  }

  // Expects: no cached cells, some slab has a free cell, fewer than `max_count` are live.
  [[nodiscard]] ASHLAR_INLINE void* refill() noexcept {
    const cell_batch fresh = store_.take_batch(geometry(), max_count() - slabs_held().taken());
    return handed_out(cached_.refill(fresh, cell_stride(), slot_count()));
  }

  [[nodiscard]] std::size_t slots_bytes() const noexcept { return cached_.limit(cell_stride()) * sizeof(void*); }

  // A huge page would be too much for them.
  [[nodiscard]] decltype(auto) slots_upstream() noexcept {
    if constexpr (least_part<Upstream> > largest_page) return default_upstream{};
    else return (store_.upstream());
  }

  // Whether the cached cells have a block of the upstream.
  [[nodiscard]] bool has_own_slots() const noexcept {
    return cached_.array() != nullptr && !slabs_held().is_in_short(geometry(), cached_.array());
  }

  [[nodiscard]] std::size_t slot_count() const noexcept {
    if (cached_.array() == nullptr) return 0;
    const std::size_t most = cached_.limit(cell_stride());
    return has_own_slots() ? most : min(most, geometry().short_slots());
  }

  // After growth: the cached cells have slots in the short slab while it is the only one, then in a block of their own,
  // if the upstream has one. It may have used this pool in the meantime.
  void find_slots() noexcept {
    if (slots_bytes() == 0 || has_own_slots()) return;
    if (const auto free_slots = store_.short_slots(geometry()); slabs() == 1 && !free_slots.empty())
      return cached_.use(free_slots.data());
    auto&& from = slots_upstream();
    void* const memory = try_allocate_from(from, slots_bytes(), alignof(void*));
    if (memory == nullptr) return;
    if (has_own_slots()) from.deallocate(memory, slots_bytes(), alignof(void*));
    else cached_.use(static_cast<void**>(memory));
  }

  // The short slab may go. Expects: no cached cell is needed any more.
  void leave_short_slots() noexcept {
    if (!has_own_slots()) cached_.clear();
  }
  void give_slots_back() noexcept {
    void** const own = has_own_slots() ? cached_.array() : nullptr;
    cached_.clear();  // first: the upstream may use this pool
    if (own != nullptr) slots_upstream().deallocate(own, slots_bytes(), alignof(void*));
  }

  ASHLAR_COLD void take_back_slow(void* cell, std::size_t bytes) noexcept {
    if (!retire_checked(site(), store_, cell, bytes)) report_unheld(site(), store_.upstream(), cell, bytes);
  }

  // The cached cells are full: a bulk free begins.
  ASHLAR_COLD void deallocate_overflowing(void* cell) noexcept {
    cached_.give_array(geometry(), store_);
    store_.give(geometry(), cell);
  }

  void flush_caches() noexcept { cached_.give_all(geometry(), store_); }

  // A block that no cell can hold. For any arguments of the caller, no cell of this pool reaches the upstream.
  ASHLAR_COLD void deallocate_larger(void* p, const freed_extent& given) noexcept {
    ASHLAR_EXPECTS(is_power_of_two(given.alignment), "alignment is not a power of two");
    check_larger_free(site(), p, given);
    store_.upstream().deallocate(p, given.bytes, given.alignment);
  }

  [[nodiscard]] free_site site() const noexcept { return {geometry(), slabs_held(), this, cached_.batch()}; }

  ASHLAR_COLD void report_live() noexcept {
    std::array<const void*, leaked_blocks::most_shown> first = {};
    std::size_t shown = 0;
    for_each_live([&](void* cell) {
      if (shown != first.size()) first[shown++] = cell;
    });
    report_leak({.resource = this,
                 .count = live(),
                 .block_bytes = cell_bytes(),
                 .bytes = live() * cell_bytes(),
                 .first = {first.data(), shown}});
  }

  cached_cells<> cached_;
  std::size_t inverted_max_count_;  // the complement of max_count: 0 without a limit, for .bss
  slab_store<Upstream> store_;
  outsized_count<Upstream, false> outsized_;
};

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI {

/// Equal cells in slabs aligned to their own size, with 0 bytes of overhead per cell.
///
///     ashlar::block_pool pool({.cell_bytes = 24});
///     void* cell = pool.allocate();
///     pool.deallocate(cell);
///
/// The end of the pool is a `release`; from level `checked` on, live cells are reported as a leak before. Thread
/// safety: none. Nothing is allocated before the first `allocate` or `reserve`.
template <resource Upstream>
class block_pool : public detail::basic_block_pool<detail::dynamic_geometry, Upstream> {
  using base = detail::basic_block_pool<detail::dynamic_geometry, Upstream>;

public:
  ASHLAR_DELETED("give the size of a cell: block_pool<> pool({.cell_bytes = 48})", block_pool());
  explicit block_pool(const block_pool_options& options, Upstream upstream = {})
      : base(detail::dynamic_geometry(options, least_part<Upstream>), options.max_count, options.retain_slabs,
             std::move(upstream)) {}

  /// @{ With the contracts of `basic_block_pool`, above.
  using base::allocate;
  using base::allocate_at_least;
  using base::allocate_many;
  using base::allocate_run;
  using base::capacity;
  using base::cell_alignment;
  using base::cell_bytes;
  using base::cell_stride;
  using base::deallocate;
  using base::deallocate_many;
  using base::deallocate_run;
  using base::for_each_live;
  using base::held_bytes;
  using base::invariant;
  using base::live;
  using base::outsized_blocks;
  using base::owns;
  using base::release;
  using base::reserve;
  using base::retain;
  using base::retained_bytes;
  using base::slab_bytes;
  using base::slabs;
  using base::trim;
  using base::try_allocate;
  using base::try_allocate_many;
  using base::try_allocate_run;
  using base::upstream_resource;
  using typename base::cell_run;
  /// @}
};

static_assert(try_resource<block_pool<>> && owning_resource<block_pool<>> && releasable_resource<block_pool<>> &&
              run_resource<block_pool<>>);

}  // namespace ashlar::ASHLAR_ABI
