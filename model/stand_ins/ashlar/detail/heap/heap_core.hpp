// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: a list of free cells, behind the same calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <checker.hpp>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/cell_store.hpp>
#include <ashlar/detail/heap/extent_map.hpp>
#include <ashlar/detail/heap/heap_faults.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/heap/heap_options.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// A call that is not `const` writes `touched_`, and one that is reads it: two unordered calls race.
template <resource Upstream>
class heap_core {
public:
  using upstream_type = Upstream;

  heap_core(const heap_options&, Upstream upstream, const void* heap) : upstream_(std::move(upstream)), heap_(heap) {}
  heap_core(const heap_core&) = delete;
  heap_core& operator=(const heap_core&) = delete;

  void set_number(std::uint32_t number) noexcept { lane_ = number % segment::lanes; }

  /// Returns: a free cell; the other free ones become cached. Without free cells, a new one.
  [[nodiscard]] void* take_cell(std::size_t, free_lists& lists) noexcept {
    touch();
    segment* const cell = free_.pop();
    if (cell == nullptr) return made_cell();
    while (segment* const other = free_.pop()) lists.push(0, other);
    return cell;
  }
  /// Cell batches belong to the owner, as the free lists do: there are none here.
  [[nodiscard]] void* take_cell_excluding_cache(std::size_t, free_lists&) noexcept { return nullptr; }
  [[nodiscard]] void* take_cell_of_batch(std::size_t, free_lists&) noexcept { return nullptr; }
  void fetch_ahead(std::size_t) const noexcept {}
  void give_cell(void* cell) noexcept { give(cell); }
  void give_sampled(void* cell, std::size_t, free_lists&) noexcept { give(cell); }
  void count_taken(std::size_t) noexcept {}
  void count_freed(std::size_t, free_lists&) noexcept { touch(); }
  [[nodiscard]] slice_run take_large(std::size_t, std::size_t, free_lists&) noexcept { return touch(), slice_run{}; }
  [[nodiscard]] slice_run take_large_retry(std::size_t, std::size_t, free_lists&) noexcept {
    return touch(), slice_run{};
  }
  void give_run(void*, free_lists&) noexcept { touch(); }
  void give_huge(void*) noexcept { touch(); }
  [[nodiscard]] bool resize(void*, std::size_t, std::size_t, std::size_t) noexcept { return touch(), true; }
  [[nodiscard]] void* move_huge(void*, std::size_t, std::size_t) noexcept { return touch(), nullptr; }
  [[nodiscard]] std::size_t usable_size(const void*) const noexcept { return looked(); }
  [[nodiscard]] bool owns(const void*) const noexcept { return looked() != 0; }
  std::size_t give_block(void* p) noexcept { return give(p); }
  [[nodiscard]] std::size_t retention_left() const noexcept { return looked(); }
  [[nodiscard]] std::size_t cached_bytes() const noexcept { return 0; }
  void report_twice(const void*) const noexcept { checker::check(false, "no cell is freed twice"); }
  [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }
  [[nodiscard]] const void* name() const noexcept { return heap_; }
  [[nodiscard]] block_check checks(const block_use& = freeing_block) const noexcept { return {looked()}; }
  void discard_free_slices(std::size_t) noexcept { touch(); }
  /// Effects: gives all free cells to the upstream.
  std::size_t trim_excluding_cache(std::size_t) noexcept {
    touch();
    std::size_t given = 0;
    while (segment* const cell = free_.pop()) upstream_.deallocate(cell, sizeof(segment), alignof(segment)), ++given;
    return given;
  }
  /// Effects: gives one free cell to the upstream: a segment is one cell.
  bool give_segment_excluding_cache() noexcept {
    touch();
    segment* const cell = free_.pop();
    if (cell != nullptr) upstream_.deallocate(cell, sizeof(segment), alignof(segment));
    return cell != nullptr;
  }
  void flush_caches(free_lists& lists) noexcept {
    touch();
    while (segment* const cell = lists.pop()) free_.push(0, cell);
  }
  template <class F>
  void for_each_live(F) {
    touch();
  }
  template <class F>
  void for_each_live_behind(F) {
    touch();
  }
  template <class F>
  void inspect(F, const free_lists&) const {
    static_cast<void>(looked());
  }
  template <class F>
  void inspect_excluding_cache(F) const {
    static_cast<void>(looked());
  }
  void release() noexcept { touch(); }
  std::size_t trim(std::size_t retain_bytes, free_lists& lists) noexcept {
    return flush_caches(lists), trim_excluding_cache(retain_bytes);
  }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return looked(); }
  [[nodiscard]] std::size_t segments() const noexcept { return looked(); }
  [[nodiscard]] std::size_t table_bytes() const noexcept { return looked(); }
  [[nodiscard]] std::uint64_t reused_bytes() const noexcept { return looked(); }
  [[nodiscard]] bool invariant(const free_lists&) const noexcept { return looked() != 0; }

private:
  void touch() noexcept { touched_ = touched_ + 1; }
  [[nodiscard]] std::size_t looked() const noexcept { return touched_; }

  std::size_t give(void* cell) noexcept {
    touch();
    free_.push(0, cell);
    return 1;
  }

  [[nodiscard]] void* made_cell() noexcept {
    void* const memory = try_allocate_from(upstream_, sizeof(segment), alignof(segment));
    if (memory == nullptr) return nullptr;
    auto* const cell = ::new (memory) segment;
    cell->head.heap = heap_;
    cell->head.lane = lane_;
    return cell;
  }

  Upstream upstream_;
  const void* heap_;
  std::uint32_t lane_ = 0;
  free_lists free_;
  checker::atomics::plain<std::size_t> touched_ = 0;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
