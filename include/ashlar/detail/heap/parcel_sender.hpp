// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread's side of remote frees: the open parcels, one for each owner, and the time to send them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/remote_free/parcel.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Gathers freed cells, of up to 32 KiB, into parcels, one for each owner, and sends a parcel with one atomic
/// operation. Larger blocks go back at once. Never allocates. From level `checked` on every block goes back at once, so
/// that the freeing call reports misuse. Lifetime: the heaps outlive it, or its last `flush`. Thread safety: one
/// thread, any number of heaps.
template <resource Upstream>
class parcel_sender {
  using engine = owner_engine<Upstream>;
  static constexpr bool sends = frees_travel;

public:
  /// Bytes: the limit of cells that are not sent, exceeded by less than 72 KiB for each owner, since the cells that a
  /// carrier lists count by one of them, and the cells of the last carrier by its own size.
  static constexpr std::size_t most_held = std::size_t{256} * 1024;

  parcel_sender() = default;
  parcel_sender(const parcel_sender&) = delete;
  parcel_sender& operator=(const parcel_sender&) = delete;
  ~parcel_sender() { flush(); }

  /// Effects: frees a block of `owner`; nothing for null. Complexity: O(1).
  ASHLAR_INLINE_FOR_SPEED void defer_free(engine& owner, void* p) noexcept {
    if (ASHLAR_UNLIKELY(!sends || detail::is_sampled(p))) return defer_sampled(owner, p);
    defer_free_cell(owner, p);
  }

  /// As `defer_free`, for a cell.
  ASHLAR_INLINE void defer_free_cell(engine& owner, void* cell) noexcept {
    if constexpr (!sends) return owner.give_now(cell);
    if (ASHLAR_UNLIKELY(!try_defer_cell(owner, cell))) begin_carrier(owner, cell);
  }

  /// As `defer_free_cell`, but false, without an effect, when the parcel for the owner has no place for the cell. The
  /// fast path of a free by any thread. Expects: level `fast`.
  [[nodiscard]] ASHLAR_INLINE bool try_defer_cell(engine& owner, void* cell) noexcept {
    entry& at = open_[engine::segment::parcel_lane_of(cell)];
    if (ASHLAR_UNLIKELY(at.owner != &owner || !at.parcel.try_add(cell))) return false;
    mark_free(cell);
    return true;
  }

  /// After `try_defer_cell`: frees the cell, which carries the cells of the next frees.
  ASHLAR_NOINLINE void begin_carrier(engine& owner, void* cell) noexcept {
    mark_free(cell);
    entry& at = entry_of(cell);
    held_ += at.parcel.sample_listed(bytes_of);
    const bool may_be_full = at.parcel.reserved() >= most_bytes || at.parcel.reserved_cells() >= most_cells;
    if (ASHLAR_UNLIKELY(may_be_full || at.owner != &owner || at.parcel.is_top(cell)))
      return begin_carrier_after_change(at, owner, cell);
    add_carrier(at, cell);
  }

  /// Effects: sends the noted cells.
  void flush() noexcept {
    if (held_ == 0) return;
    for (entry& each : open_)
      if (!each.parcel.is_empty()) send(each);
  }

  /// Effects: flushes at the fourth call in a row without a new carrier between them, of which there is one in fifteen
  /// frees: an active freer sends its parcels in time.
  void flush_if_quiet() noexcept {
    quiet_calls_ = carriers_ == std::exchange(carriers_seen_, carriers_) ? quiet_calls_ + 1 : 0;
    if (quiet_calls_ >= most_quiet_calls) flush();
  }

  /// Effects: forgets the noted cells, which stay taken.
  void forget() noexcept {
    if (std::exchange(held_, 0) != 0) open_ = {};
  }

  /// Returns: cells noted and not sent. Complexity: O(1), 33 entries.
  [[nodiscard]] std::size_t noted() const noexcept {
    std::size_t cells = 0;
    for (const entry& each : open_) cells += each.parcel.cells();
    return cells;
  }
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t held = 0;
    for (const entry& each : open_) {
      if (!each.parcel.is_empty() && each.owner == nullptr) return false;
      held += each.parcel.reserved();
    }
    return held == held_;
  }

private:
  static constexpr std::size_t most_open = engine::segment::lanes, most_cells = 64, most_bytes = std::size_t{16} * 1024;
  static constexpr std::uint32_t most_quiet_calls = 4;

  struct alignas(64) entry {
    engine* owner = nullptr;
    detail::open_parcel<> parcel;
  };

  [[nodiscard]] ASHLAR_INLINE entry& entry_of(void* cell) noexcept {
    return open_[engine::segment::of(cell)->head.lane];
  }

  [[nodiscard]] static std::size_t bytes_of(void* cell) noexcept {
    return detail::size_classes::bytes_of(engine::segment::size_class_of(cell));
  }
  static ASHLAR_INLINE void mark_free([[maybe_unused]] void* cell) noexcept {
    if constexpr (detail::marks_memory) detail::mark_free(cell, bytes_of(cell));
  }

  // Null and blocks outside of slabs start with a slice; so do some cells.
  ASHLAR_NOINLINE void defer_sampled(engine& owner, void* p) noexcept {
    sends&& engine::segment::is_in_slab(p) ? defer_free_cell(owner, p) : owner.give_now(p);
  }

  // Without the places that carriers have left, which large cells seldom fill.
  [[nodiscard]] std::size_t bytes_held() const noexcept {
    std::size_t bytes = 0;
    for (const entry& each : open_) bytes += each.parcel.bytes();
    return bytes;
  }

  // In a function of its own, so that `begin_carrier` saves no registers.
  ASHLAR_NOINLINE void begin_carrier_after_change(entry& at, engine& owner, void* cell) noexcept {
    if (ASHLAR_UNLIKELY(at.parcel.is_top(cell))) owner.report_twice(cell);
    const bool is_full = at.parcel.bytes() >= most_bytes || at.parcel.cells() >= most_cells;
    if (!at.parcel.is_empty() && (is_full || at.owner != &owner)) send(at);
    at.owner = &owner;
    add_carrier(at, cell);
  }

  ASHLAR_INLINE void add_carrier(entry& at, void* cell) noexcept {
    held_ += at.parcel.begin_carrier(cell, bytes_of(cell));
    ++carriers_;
    if (ASHLAR_UNLIKELY(held_ >= most_held)) flush_if_most_held();
  }

  ASHLAR_COLD void flush_if_most_held() noexcept {
    if (bytes_held() >= most_held) flush();
  }

  void send(entry& of) noexcept {
    held_ += of.parcel.sample_listed(bytes_of);
    const std::size_t bytes = of.parcel.bytes();
    held_ -= of.parcel.reserved();
    of.owner->receive(of.parcel.close(), bytes);
  }

  std::array<entry, most_open + 1> open_ = {};      // by lane; the entry of `no_lane` has no owner
  std::size_t held_ = 0;                            // bytes reserved by all parcels
  std::uint32_t carriers_ = 0, carriers_seen_ = 0;  // begun in all, and at the last `flush_if_quiet`
  std::uint32_t quiet_calls_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
