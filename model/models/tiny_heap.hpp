// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of a heap for models: a segment is one cell, and every access is observed.
#pragma once

#include <checker.hpp>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/heap_checks.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/remote_free/parcel.hpp>
#include <ashlar/detail/slab/size_classes.hpp>

namespace models {

using ashlar::detail::cached;
using ashlar::detail::fresh_block;
using ashlar::detail::parcel_carrier;
using ashlar::detail::segment_owner;

/// A segment of one cell.
struct alignas(64) segment {
  static constexpr std::uint32_t lanes = 4;

  template <class T>
  using plain = checker::atomics::plain<T>;

  struct header {
    plain<segment_owner*> owner = nullptr;
    plain<std::uint32_t> lane = 0;
  };

  [[nodiscard]] static segment* of(const void* p) noexcept { return static_cast<segment*>(const_cast<void*>(p)); }
  [[nodiscard]] static segment_owner* heap_of(const void* p) noexcept { return of(p)->head.owner; }
  [[nodiscard]] static std::size_t size_class_of(const void* p) noexcept { return of(p)->size_class; }
  [[nodiscard]] static bool is_in_slab(const void* p) noexcept {
    return !ashlar::is_aligned(p, ashlar::detail::window_bytes) &&
           size_class_of(p) != ashlar::detail::size_classes::none;
  }
  [[nodiscard]] static std::size_t parcel_lane_of(const void* p) noexcept { return of(p)->head.lane; }

  static constexpr std::size_t cell_class = ashlar::detail::size_classes::of(3 * sizeof(parcel_carrier<>::word));

  // The cell: the words that a parcel uses, with stale values. As a carrier it lists one other.
  parcel_carrier<> words;
  parcel_carrier<>::word place = 1;

  header head;                                 // written before the cell is handed out, constant afterwards
  plain<std::size_t> size_class = cell_class;  // the same
  plain<int> content = 0;                      // of its client
  plain<segment*> below = nullptr;
};

/// A list of cells: the thread cache, with one list for all classes.
class cell_list {
public:
  void push(std::size_t, void* cell) noexcept {
    segment::of(cell)->below = top_;
    top_ = segment::of(cell);
  }
  [[nodiscard]] segment* pop(std::size_t = 0) noexcept {
    segment* const cell = top_;
    if (cell != nullptr) top_ = static_cast<segment*>(cell->below);
    return cell;
  }
  [[nodiscard]] bool is_empty(std::size_t) const noexcept { return static_cast<segment*>(top_) == nullptr; }
  [[nodiscard]] void* top_of(std::size_t) const noexcept { return static_cast<segment*>(top_); }
  void pop_top(std::size_t, void*) noexcept { static_cast<void>(pop()); }
  void count_taken(std::size_t) noexcept {}
  void clear() noexcept { top_ = nullptr; }

private:
  segment::plain<segment*> top_ = nullptr;
};

/// No block is misused. Its making reads the heap where blocks are checked.
struct block_check {
  static void expect(const void*) noexcept {}
  static void expect(const void*, std::size_t, std::size_t, std::size_t) noexcept {}
  static void begin_life(const void*) noexcept {}
  static void end_life(const void*) noexcept {}
  static void end_life(const void*, std::size_t, std::size_t, std::size_t) noexcept {}
  [[nodiscard]] static bool ends_own_small(const void*, std::size_t, std::size_t) noexcept { return false; }
  [[nodiscard]] static bool ends_known_cell(const void*, std::size_t, std::size_t) noexcept { return true; }
};

/// No size is kept.
struct sizes_of_blocks {
  static void hand_out_cell(void*, std::size_t) noexcept {}
  static void hand_out_large(void*, std::size_t) noexcept {}
};

/// A list of free cells. A call that is not `const` writes `touched_`, and one that is reads it: two unordered calls
/// race.
template <class Upstream>
class stores {
public:
  using upstream_type = Upstream;
  using segment = models::segment;

  stores(const ashlar::heap_options&, Upstream upstream, segment_owner* owner)
      : upstream_(std::move(upstream)), owner_(owner) {}
  stores(const stores&) = delete;
  stores& operator=(const stores&) = delete;

  [[nodiscard]] cell_list& cache() noexcept { return cache_; }
  [[nodiscard]] ashlar::detail::unlocked_calls& unlocked() noexcept { return unlocked_; }
  void set_number(std::uint32_t number) noexcept { lane_ = number % segment::lanes; }
  void set_waits_to_grow(bool) noexcept {}
  [[nodiscard]] bool waits_to_grow() const noexcept { return false; }

  /// Returns: a free cell; the other free ones become cached. Without free cells, a new one.
  [[nodiscard]] void* take_cell(std::size_t) noexcept {
    touch();
    segment* const cell = free_.pop();
    if (cell == nullptr) return made_cell();
    while (segment* const other = free_.pop()) cache_.push(0, other);
    return cell;
  }
  /// Cell batches and cached spans belong to the owner, as the free lists do: there are none here.
  [[nodiscard]] std::byte* take_cached_span(std::size_t, std::size_t) noexcept { return nullptr; }
  [[nodiscard]] bool cache_span(void*) noexcept { return false; }
  [[nodiscard]] std::byte* take_binned_span(std::size_t, std::size_t) noexcept { return touch(), nullptr; }
  [[nodiscard]] bool bin_span(void*) noexcept { return touch(), false; }
  [[nodiscard]] void* take_cell_unlocked(std::size_t) noexcept { return nullptr; }
  void fetch_ahead(std::size_t) const noexcept {}
  void give_cell(void* cell) noexcept { give(cell); }
  void give_sampled(void* cell, std::size_t) noexcept { give(cell); }
  void count_freed(std::size_t) noexcept { touch(); }
  [[nodiscard]] fresh_block take_large(std::size_t, std::size_t) noexcept { return touch(), fresh_block{}; }
  [[nodiscard]] fresh_block take_large_retry(std::size_t, std::size_t) noexcept { return touch(), fresh_block{}; }
  void give_span(void*) noexcept { touch(); }
  void give_huge(void*) noexcept { touch(); }
  [[nodiscard]] bool resize(void*, std::size_t, std::size_t, std::size_t) noexcept { return touch(), true; }
  [[nodiscard]] void* move_huge(void*, std::size_t, std::size_t) noexcept { return touch(), nullptr; }
  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
    return ashlar::is_aligned(p, ashlar::detail::window_bytes) ? looked() : 1;  // else constant while it lives
  }
  [[nodiscard]] bool owns(const void*) const noexcept { return looked() != 0; }
  std::size_t give_block(void* p) noexcept { return give(p); }
  [[nodiscard]] std::size_t cached_bytes() const noexcept { return 0; }
  void expect_link(const void*, std::size_t) const noexcept {}
  void report_twice(const void*) const noexcept { checker::check(false, "no cell is freed twice"); }
  [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }
  [[nodiscard]] ashlar::detail::part_if<false, sizes_of_blocks> sizes() noexcept { return {}; }
  [[nodiscard]] ashlar::detail::part_if<true, block_check>
  checks(const ashlar::detail::block_use& = ashlar::detail::freeing_block) const noexcept {
    if constexpr (ashlar::checking_level >= ashlar::checking::checked) static_cast<void>(looked());
    return {};
  }
  void count_arrived(std::size_t, cached) noexcept { touch(); }
  /// Effects: gives all free cells to the upstream.
  std::size_t trim(
      std::size_t, cached which = cached::included, bool = true,
      ashlar::detail::function_ref<> pause = [] {}) noexcept {
    flush_caches(which);
    pause();
    std::size_t given = 0;
    while (segment* const cell = free_.pop()) upstream_.deallocate(cell, sizeof(segment), alignof(segment)), ++given;
    return given;
  }
  /// Effects: gives one free cell to the upstream: a segment is one cell.
  bool give_segment(cached which) noexcept {
    flush_caches(which);
    segment* const cell = free_.pop();
    if (cell != nullptr) upstream_.deallocate(cell, sizeof(segment), alignof(segment));
    return cell != nullptr;
  }
  void give_unused(cached which) noexcept { flush_caches(which); }
  void flush_caches(cached which = cached::included) noexcept {
    touch();
    if (which == cached::excluded) return;
    while (segment* const cell = cache_.pop()) free_.push(0, cell);
  }
  void join_spare() noexcept { touch(); }
  void end_quarantine() noexcept { touch(); }
  template <class F>
  void for_each_live(F) {
    touch();
  }
  template <class F>
  void inspect(F, cached = cached::included) const {
    static_cast<void>(looked());
  }
  void release() noexcept {
    touch();
    cache_.clear();
  }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return looked(); }
  [[nodiscard]] std::size_t free_bytes() const noexcept { return looked(); }
  [[nodiscard]] std::size_t segments() const noexcept { return looked(); }
  [[nodiscard]] std::size_t table_bytes() const noexcept { return looked(); }
  [[nodiscard]] std::uint64_t reused_bytes() const noexcept { return looked(); }
  [[nodiscard]] bool invariant() const noexcept { return looked() != 0; }

private:
  void touch() noexcept { touched_ = touched_ + 1; }
  [[nodiscard]] std::size_t looked() const noexcept { return touched_; }

  std::size_t give(void* cell) noexcept {
    touch();
    free_.push(0, cell);
    return 1;
  }

  [[nodiscard]] void* made_cell() noexcept {
    void* const memory = ashlar::try_allocate_from(upstream_, sizeof(segment), alignof(segment));
    if (memory == nullptr) return nullptr;
    auto* const cell = ::new (memory) segment;
    cell->head.owner = owner_;
    cell->head.lane = lane_;
    return cell;
  }

  cell_list cache_;
  ashlar::detail::unlocked_calls unlocked_;
  Upstream upstream_;
  segment_owner* owner_;
  std::uint32_t lane_ = 0;
  cell_list free_;
  checker::atomics::plain<std::size_t> touched_ = 0;
};

/// A map of address space that each call reads or changes. It has no spare extents.
template <class Upstream>
class space {
public:
  space(std::size_t, Upstream upstream) : upstream_(std::move(upstream)) {}

  void enter_registry(const void*) noexcept {}

  [[nodiscard]] void* take(std::size_t bytes, std::size_t alignment, bool) noexcept {
    change(1);
    return upstream_.try_allocate(bytes, alignment);
  }
  void give(const void*) noexcept { change(-1); }
  [[nodiscard]] bool resize(const void*, std::size_t) noexcept { return change(0), true; }
  [[nodiscard]] std::byte* move(void*, std::size_t, std::size_t) noexcept { return change(0), nullptr; }
  void split(void*, std::size_t) noexcept { change(0); }
  [[nodiscard]] bool charge(std::size_t) noexcept { return change(0), true; }
  void uncharge(std::size_t) noexcept { change(0); }

  void keep(void*) noexcept { change(0); }
  [[nodiscard]] std::byte* take_spare(std::size_t, std::size_t) noexcept { return change(0), nullptr; }
  [[nodiscard]] std::size_t give_spares(std::size_t) noexcept { return change(0), 0; }
  [[nodiscard]] std::size_t spare_bytes() const noexcept { return static_cast<void>(int{extents_}), 0; }
  [[nodiscard]] bool is_spare(const void*) const noexcept { return extents_ < 0; }

  struct window {
    std::byte* start = nullptr;
    [[nodiscard]] static constexpr std::size_t bytes() noexcept { return 0; }
    [[nodiscard]] static constexpr bool is_segment() noexcept { return true; }
  };
  [[nodiscard]] const window* find(const void*) const noexcept { return extents_ > 0 ? &found_ : nullptr; }
  template <class F>
  void for_each(F f) const {
    if (extents_ > 0) f(found_);
  }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return static_cast<std::size_t>(int{extents_}); }
  [[nodiscard]] std::size_t table_bytes() const noexcept { return held_bytes(); }
  [[nodiscard]] std::size_t charged_bytes() const noexcept { return held_bytes(); }
  [[nodiscard]] bool invariant() const noexcept { return extents_ >= 0; }
  [[nodiscard]] ashlar::detail::unlocked_calls& unlocked() noexcept { return unlocked_; }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }
  [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }

private:
  void change(int by) noexcept { extents_ = extents_ + by; }

  static constexpr window found_{};

  Upstream upstream_;
  ashlar::detail::unlocked_calls unlocked_;
  checker::atomics::plain<int> extents_ = 0;
};

}  // namespace models
