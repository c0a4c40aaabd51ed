// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The slabs of one pool together with their upstream: when to request a slab, when to give one back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slab/cell_watch.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_set.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The source of memory for slabs: several at a time, if the upstream can take them back one by one. The operating
/// system serialises the mapping calls of a process, and page faults of all threads wait for them. So a growing pool
/// asks for a region, as large as an eighth of its slabs and at most 4 MiB, and cuts slabs off its low end. The rest is
/// untouched address space without memory. Slabs that are no parts of the upstream's come one by one: two may share a
/// page, which goes back as a whole.
///
///     region   | slab | slab | slab | raw ...      |
///
/// Only `request` calls the upstream to allocate. Invariant: `raw_` is a multiple of slabs. Thread safety: `request` as
/// the upstream, the others none.
template <resource Upstream>
class slab_source {
public:
  static constexpr std::size_t region_bytes = std::size_t{4} << 20;

  constexpr explicit slab_source(Upstream upstream) : upstream_(std::move(upstream)) {}

  slab_source(const slab_source&) = delete;  // the raw slabs would be handed out twice
  slab_source& operator=(const slab_source&) = delete;

  /// Returns: memory for a slab from the raw rest, or null.
  [[nodiscard]] void* take_raw([[maybe_unused]] std::size_t slab_bytes) noexcept {
    if constexpr (has_regions)
      if (raw_.size != 0) return std::exchange(raw_, behind(raw_, slab_bytes)).data;
    return nullptr;
  }

  /// Returns: a region for a pool of `held` slabs, to be passed to `keep`; one slab if the upstream has no memory for
  /// more, and a null block if it has none for that, or throws as the upstream.
  template <failure Failure = or_throw>
  [[nodiscard]] ASHLAR_INLINE block request(std::size_t slab_bytes, std::size_t held) noexcept(Failure == or_null) {
    ASHLAR_ASSUME(is_power_of_two(slab_bytes));  // so the upstream does not check it
    if (const std::size_t slabs = region(slab_bytes, held); slabs > 1)
      if (void* const p = try_allocate_from(upstream_, slabs * slab_bytes, slab_bytes)) return {p, slabs * slab_bytes};
    return {allocate_from<Failure>(upstream_, slab_bytes, slab_bytes), slab_bytes};
  }

  /// Returns: memory for a slab, the lowest of `region`. The rest becomes the raw rest; if there already is one, it
  /// goes back.
  [[nodiscard]] ASHLAR_INLINE void* keep(block region, [[maybe_unused]] std::size_t slab_bytes) noexcept {
    if constexpr (has_regions) {
      const block rest = behind(region, slab_bytes);
      if (raw_.size == 0) raw_ = rest;
      else if (rest.size != 0) upstream_.deallocate(rest.data, rest.size, slab_bytes);
    }
    return region.data;
  }

  /// Effects: gives the raw rest back.
  void give_back_raw([[maybe_unused]] std::size_t slab_bytes) noexcept {
    if constexpr (has_regions)
      if (raw_.size != 0) upstream_.deallocate(raw_.data, raw_.size, slab_bytes);
    raw_ = {};
  }

  /// Returns: the number of slabs that a pool of `held` slabs asks for at once.
  [[nodiscard]] static constexpr std::size_t region(std::size_t slab_bytes, std::size_t held) noexcept {
    if (!takes_parts_of<Upstream>(slab_bytes)) return 1;
    return detail::max<std::size_t>(detail::min(held / 8, region_bytes / slab_bytes), 1);
  }

  [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }

private:
  static constexpr bool has_regions = divisible_resource<Upstream>;
  struct nothing {};

  [[nodiscard]] static block behind(block region, std::size_t bytes) noexcept {
    return {static_cast<std::byte*>(region.data) + bytes, region.size - bytes};
  }

  ASHLAR_NO_UNIQUE_ADDRESS std::conditional_t<has_regions, block, nothing> raw_;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

/// A cell about to be handed out, and whether it was handed out before.
struct taken_cell {
  located_cell cell;
  bool was_used = false;
};

/// Cells leave it in batches or runs and come back one by one. Empty slabs go back upstream except for those that the
/// `retain_policy` retains, so that a program at a slab's boundary does not thrash. The owner passes the same geometry
/// to every call. Thread safety: none.
template <resource Upstream>
class slab_store {
public:
  constexpr slab_store(retain_policy policy, Upstream upstream) : policy_(policy), source_(std::move(upstream)) {}

  slab_store(const slab_store&) = delete;  // the owner's cells point into it
  slab_store& operator=(const slab_store&) = delete;

  [[nodiscard]] const slab_set& slabs() const noexcept { return set_; }
  [[nodiscard]] Upstream& upstream() noexcept { return source_.upstream(); }
  [[nodiscard]] const Upstream& upstream() const noexcept { return source_.upstream(); }

  /// Effects: as `slab_set::use_lanes`.
  void use_lanes(slab_set::other_lanes& others) noexcept { set_.use_lanes(others); }

  /// Returns: up to `most` free cells, now taken, by `lane` of the `slab_set`. Expects: some are free, `most > 0`.
  [[nodiscard]] cell_batch take_batch(const slab_geometry& geometry, std::size_t most,
                                      std::uint32_t lane = 0) noexcept {
    return set_.take_batch(geometry, most, lane);
  }

  /// Effects: enters the slab `home` in the map, for the next free to it.
  void remember(const slab_geometry& geometry, slab* home) noexcept { set_.remember(geometry, home); }

  /// Returns: a free cell, now taken, to be passed to `hand_out`; none if `take_batch` is needed. Reports nothing.
  [[nodiscard]] ASHLAR_INLINE taken_cell take_next_cell(const slab_geometry& geometry) noexcept {
    const located_cell cell = set_.take_next_cell();
    if (ASHLAR_UNLIKELY(cell.home == nullptr)) return {};
    return {cell, cell_watch(geometry, cell.home).use(cell.index)};
  }

  /// Returns: a run of neighbouring cells, now owned by a caller; null if a fresh slab is needed. See `slab_set`.
  [[nodiscard]] void* take_run(const slab_geometry& geometry, std::size_t cells) noexcept {
    const cell_batch got = set_.take_run(geometry, cells);
    if (got.mask == 0) return nullptr;
    mark_run(geometry, got);
    std::byte* const run = got.base + first_bit(got.mask) * geometry.cell_stride();
    const auto [home, index] = set_.locate(geometry, run);
    cell_watch(geometry, home).hand_out_run(index, static_cast<std::uint32_t>(cells));
    return run;
  }

  /// Returns: `cell`, now owned by a caller. Reports a write to it since it died. Expects: the cell is taken.
  ASHLAR_INLINE void* hand_out(const slab_geometry& geometry, void* cell) noexcept {
    if constexpr (has_guards) {
      const auto [home, index] = set_.locate(geometry, cell);
      cell_watch(geometry, home).hand_out(index);
    }
    return cell;
  }

  /// As above. Touches no state shared by cells, so no lock is needed.
  [[nodiscard]] ASHLAR_INLINE static void* hand_out(const slab_geometry& geometry, const taken_cell& taken) noexcept {
    const auto [home, index] = taken.cell;
    cell_watch(geometry, home).hand_out(index, taken.was_used);
    return home->cells + std::size_t{index} * geometry.cell_stride();
  }

  /// Effects: takes a cell back from a caller. Expects: the cell is taken.
  ASHLAR_INLINE void retire(const slab_geometry& geometry, void* cell) noexcept {
    const auto [home, index] = set_.locate(geometry, cell);
    retire(geometry, home, index);
  }

  /// As above, for a cell given by its slab and index.
  ASHLAR_INLINE void retire(const slab_geometry& geometry, slab* home, std::uint32_t cell) noexcept {
    if constexpr (has_guards) {
      cell_watch(geometry, home).poison(cell);
      set_.rest(home, cell);
    }
    if (slab* const turned = set_.give(home, cell); ASHLAR_UNLIKELY(turned != nullptr)) refile(geometry, turned);
  }

  /// Effects: takes a cell back that no caller had. Expects: the cell is taken.
  ASHLAR_INLINE void give(const slab_geometry& geometry, void* cell) noexcept {
    if (slab* const turned = set_.give(geometry, cell); ASHLAR_UNLIKELY(turned != nullptr)) refile(geometry, turned);
  }

  /// As above, but the cell waits in `cells` for its neighbours. Then the last call must be `give(cells)`.
  ASHLAR_INLINE void gather(const slab_geometry& geometry, void* cell, gathered_cells<slab>& cells) noexcept {
    if (ASHLAR_LIKELY(cells.add(cell))) return;
    give(geometry, cells);
    cells = set_.gather(geometry, cell);
  }
  void give(const slab_geometry& geometry, const gathered_cells<slab>& cells) noexcept {
    if (cells.home != nullptr) give_batch(geometry, cells.home, cells.word, cells.batch.mask);
  }

  /// Effects: takes the rest of a batch back.
  void give(const slab_geometry& geometry, const cell_batch& rest) noexcept {
    if (rest.mask == 0) return;
    const auto [home, index] = set_.locate(geometry, rest.base);
    give_batch(geometry, home, index / 64, rest.mask);
  }

  /// Effects: takes the cells of `mask` in a word of the slab `home` back. Expects: they are taken, `mask` is not
  /// empty.
  ASHLAR_NOINLINE void give_batch(const slab_geometry& geometry, slab* home, std::uint32_t word,
                                  std::uint64_t mask) noexcept {
    if (slab* const turned = set_.give_batch(home, word, mask); turned != nullptr) refile(geometry, turned);
  }

  /// Effects: takes a run of `cells` cells back from a caller. Expects: it came from `take_run`.
  void retire_run(const slab_geometry& geometry, void* run, std::size_t cells) noexcept {
    const auto [home, first] = set_.locate(geometry, run);
    const std::uint64_t mask = ones(first % 64, cells);
    cell_watch(geometry, home).poison_run(first, static_cast<std::uint32_t>(cells));
    home->runs.unmark(first / 64, mask);
    give_batch(geometry, home, first / 64, mask);
  }

  /// Returns: memory for one more slab, to be passed to `add`; null, or throws as the upstream, if that has none.
  template <failure Failure = or_throw>
  [[nodiscard]] ASHLAR_INLINE void* request(const slab_geometry& geometry) noexcept(Failure == or_null) {
    const std::size_t bytes = geometry.slab_bytes();
    if (void* const raw = source_.take_raw(bytes); raw != nullptr) return raw;
    const block region = source_.template request<Failure>(bytes, set_.slabs());
    return region ? source_.keep(region, bytes) : nullptr;
  }

  /// Returns: the source of memory, for an owner that calls the upstream outside its lock.
  [[nodiscard]] slab_source<Upstream>& source() noexcept { return source_; }

  /// Effects: makes the first pages of a new slab resident at once: 1/128 of the bytes of `slabs` slabs, which limits
  /// the unused part. Does nothing if that is too little for a call. Expects: no lock is held.
  ASHLAR_INLINE void prepare(const slab_geometry& geometry, void* memory, std::size_t slabs) noexcept {
    registry_at_fork::enter();
    if constexpr (prefaulting_resource<Upstream>) {
      const std::size_t bytes = detail::min(slabs, std::size_t{128}) * (geometry.slab_bytes() / 128);
      if (bytes >= least_prefault) upstream().prefault(memory, bytes);
    }
  }

  /// Returns: memory for the short slab of `owner`, to be passed to `add_short`; null, or throws as the upstream.
  template <failure Failure>
  [[nodiscard]] void* request_short(const slab_geometry& geometry, const void* owner) noexcept(Failure == or_null) {
    registry_at_fork::enter();
    if (geometry.room() != 0) return static_cast<std::byte*>(const_cast<void*>(owner)) + geometry.room();
    return allocate_from<Failure>(upstream(), geometry.short_bytes(), geometry.short_alignment);
  }

  /// Effects: formats `memory` as the short slab; gives it back if there are slabs meanwhile: the upstream may use the
  /// pool.
  void add_short(const slab_geometry& geometry, const void* owner, void* memory) noexcept {
    if (set_.slabs() == 0)
      set_.add_short(format(geometry, owner, memory, geometry.short_cells_of(memory), geometry.short_cells()));
    else if (geometry.room() == 0) upstream().deallocate(memory, geometry.short_bytes(), geometry.short_alignment);
  }

  /// Effects: adds a slab. Returns: false, or throws as the upstream, if that has no memory left.
  template <failure Failure>
  [[nodiscard]] ASHLAR_COLD bool grow(const slab_geometry& geometry, const void* owner) noexcept(Failure == or_null) {
    if (set_.slabs() == 0 && geometry.short_bytes() != 0) {
      void* const memory = request_short<Failure>(geometry, owner);
      if (memory != nullptr) add_short(geometry, owner, memory);
      return memory != nullptr;
    }
    void* const memory = request<Failure>(geometry);
    if (memory != nullptr) add(geometry, owner, memory);
    return memory != nullptr;
  }

  /// Returns: the slots of the short slab; none if there is no such slab.
  [[nodiscard]] std::span<void*> short_slots(const slab_geometry& geometry) const noexcept {
    std::byte* const start = reinterpret_cast<std::byte*>(set_.short_slab());
    if (start == nullptr) return {};
    void* const first_slot = start + geometry.short_bytes() - geometry.short_slots() * sizeof(void*);
    return {static_cast<void**>(first_slot), geometry.short_slots()};
  }

  /// Returns: bytes of all slabs.
  [[nodiscard]] std::size_t held_bytes(const slab_geometry& geometry) const noexcept {
    if (set_.short_slab() == nullptr) return set_.slabs() * geometry.slab_bytes();
    return (set_.slabs() - 1) * geometry.slab_bytes() + geometry.short_bytes();
  }

  /// Effects: prepares `memory` and formats it as a slab, all cells free.
  ASHLAR_INLINE void add(const slab_geometry& geometry, const void* owner, void* memory) noexcept {
    prepare(geometry, memory, set_.slabs());
    add_prepared(geometry, owner, memory);
  }

  /// Effects: formats `memory` as a slab, all cells free.
  ASHLAR_COLD void add_prepared(const slab_geometry& geometry, const void* owner, void* memory) noexcept {
    ASHLAR_EXPECTS(is_aligned(memory, geometry.slab_bytes()), "the upstream did not align a slab to its size");
    auto* const start = static_cast<std::byte*>(memory);
    std::byte* const header = geometry.header_of(start);
    std::byte* const cells = geometry.cells_of(header);
    set_.add(format(geometry, owner, header, cells, geometry.capacity(start)));
  }

  /// Effects: holds slabs for `cells` cells, until `shrink`. Throws: as the upstream, but keeps its gains.
  void reserve(const slab_geometry& geometry, const void* owner, std::size_t cells) {
    registry_at_fork::enter();
    while (set_.capacity() < cells) {
      add_prepared(geometry, owner, request(geometry));  // not in use yet, so not made resident
      keep_for(detail::min(cells, set_.capacity()));
    }
    keep_for(cells);
  }

  /// Effects: retains slabs for `cells` cells from now on, empty ones included.
  void keep_for(std::size_t cells) noexcept { reserved_ = detail::max(reserved_, cells); }

  /// Effects: retains empty slabs by `policy` from now on. Complexity: O(slabs given back).
  void retain(const slab_geometry& geometry, retain_policy policy) noexcept {
    policy_ = policy;
    trim(geometry, set_.empty_slab());
  }

  /// Effects: cancels all reservations, so that slabs go back as they become empty.
  void unreserve() noexcept { reserved_ = 0; }

  /// Effects: gives empty slabs back except for `retained`, and orders the others by address. Reports writes to dead
  /// cells and guards. Complexity: O(slabs); at `hardened` O(bytes of dead cells).
  ASHLAR_COLD void shrink(const slab_geometry& geometry, std::size_t retained = 0) noexcept {
    while (set_.empty_slabs() > retained) give_back(geometry, set_.empty_slab());
    source_.give_back_raw(geometry.slab_bytes());
    sweep(geometry);
    set_.sort();
    slab* const first = geometry.room() == 0 && retained == 0 ? set_.short_slab() : nullptr;
    if (first != nullptr && first->free == first->capacity) give_back(geometry, first);
  }

  /// Effects: gives all slabs back with all their cells. First reports writes to dead cells and guards.
  ASHLAR_COLD void release(const slab_geometry& geometry) noexcept {
    sweep(geometry);
    set_.for_each([&](slab& each) { give_memory_back(geometry, each, &each == set_.short_slab()); });
    set_.clear();
    source_.give_back_raw(geometry.slab_bytes());
    reserved_ = 0;
  }

private:
  static constexpr std::size_t least_prefault = 64 * 1024;

  [[nodiscard]] static slab* format(const slab_geometry& geometry, const void* owner, void* header, std::byte* cells,
                                    std::uint32_t count) noexcept {
    slab* const made = slab::format(header, owner, cells, count);
    made->registration.enter(owner, cells, count * geometry.cell_stride(), geometry.cell_bytes());
    mark_free(cells, count * geometry.cell_stride());
    return made;
  }

  ASHLAR_COLD void refile(const slab_geometry& geometry, slab* turned) noexcept {
    if (!set_.refile(turned) || !is_worth_a_call(geometry)) return;
    trim(geometry, turned);  // the lower ones stay
  }

  // Gives `first` back, if it is not null, and others, as long as there are too many.
  ASHLAR_COLD void trim(const slab_geometry& geometry, slab* first) noexcept {
    for (slab* each = first; each != nullptr && is_too_many(*each); each = set_.empty_slab()) give_back(geometry, each);
  }

  // The slabs of a region go back together: neighbours may go in one call, and other threads wait once.
  [[nodiscard]] ASHLAR_INLINE bool is_worth_a_call(const slab_geometry& geometry) const noexcept {
    return set_.empty_slabs() >= retained() + policy_.batch(source_.region(geometry.slab_bytes(), set_.slabs()));
  }

  [[nodiscard]] std::size_t retained() const noexcept { return policy_.retained(set_.slabs() - set_.empty_slabs()); }

  // Expects: `empty` has no taken cells.
  [[nodiscard]] ASHLAR_INLINE bool is_too_many(const slab& empty) const noexcept {
    return set_.empty_slabs() > retained() && set_.capacity() - empty.capacity >= reserved_;
  }

  void sweep(const slab_geometry& geometry) noexcept {
    if constexpr (has_guards) set_.for_each([&](slab& each) { cell_watch(geometry, &each).sweep(); });
  }

  ASHLAR_COLD void give_back(const slab_geometry& geometry, slab* empty) noexcept {
    cell_watch(geometry, empty).sweep();
    const bool is_short = empty == set_.short_slab();
    set_.remove(empty);
    give_memory_back(geometry, *empty, is_short);
  }

  // The slab's first run gets memory for its marks. The run is already taken, so the upstream may use this pool.
  void mark_run(const slab_geometry& geometry, const cell_batch& run) noexcept {
    const auto [home, index] = set_.locate(geometry, run.base);
    if (home->runs.needs_memory()) {
      void* const marks = try_allocate_from(upstream(), marks_bytes(*home), alignof(std::uint64_t));
      if (home->runs.needs_memory()) home->runs.use(marks, home->words());
      else if (marks != nullptr) upstream().deallocate(marks, marks_bytes(*home), alignof(std::uint64_t));
      set_.forget(home);
    }
    home->runs.mark(index / 64, run.mask);
  }

  [[nodiscard]] static std::size_t marks_bytes(const slab& of) noexcept { return of.words() * sizeof(std::uint64_t); }

  ASHLAR_INLINE void give_memory_back(const slab_geometry& geometry, slab& leaving, bool is_short) noexcept {
    if (void* const marks = leaving.runs.memory(); marks != nullptr)
      upstream().deallocate(marks, marks_bytes(leaving), alignof(std::uint64_t));
    void* const start = is_short ? static_cast<void*>(&leaving) : geometry.slab_of(&leaving);
    const std::size_t bytes = is_short ? geometry.short_bytes() : geometry.slab_bytes();
    leaving.registration.leave();
    mark_readable(start, bytes);
    if (!is_short || geometry.room() == 0)
      upstream().deallocate(start, bytes, is_short ? geometry.short_alignment : bytes);
  }

  slab_set set_;
  std::size_t reserved_ = 0;  // cells
  retain_policy policy_;
  ASHLAR_NO_UNIQUE_ADDRESS slab_source<Upstream> source_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
