// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The windows of the extents of a heap: its page map, which other heaps may search from level checked on.
#pragma once

#include <bit>
#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/heap_registry.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/function_ref.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A few windows need no memory; more lie in a table of the owner. Room may be promised: to extents that calls under
/// way decide of. Invariant: `held_bytes` is the sum of all extents. Thread safety: none.
class extent_windows {
public:
  extent_windows(const extent_windows&) = delete;
  extent_windows& operator=(const extent_windows&) = delete;

  /// Returns: the window of the address, or null. `p` is not read.
  [[nodiscard]] const window* find(const void* p) const noexcept { return map_.find(p); }

  /// Returns: whether the address lies in a segment; false is a hint only, until `note_segment`. `p` is not read.
  [[nodiscard]] ASHLAR_INLINE bool has_recent_segment(const void* p) const noexcept { return recent_.has(p); }
  /// Effects: `has_recent_segment` is right for `p`. Expects: `p` lies in a segment that is not spare.
  void note_segment(const void* p) const noexcept { recent_.note(p); }

  /// Effects: calls `f(window)` for the first window of each extent, spare ones too, in no order.
  ASHLAR_COLD void for_each(function_ref<const window&> f) const {
    map_.for_each([&](const window& each) {
      if (each.is_first()) f(each);
    });
  }

  /// Effects: enters the registry, by which other heaps find the owner of an address and reports name `heap`. No effect
  /// at level `fast`.
  void enter_registry(const void* heap) noexcept { registration_.enter(heap, map_); }
  /// Effects: names `heap` in reports, for an upstream that is registered already.
  constexpr void name(const void* heap) noexcept { registration_.name(heap); }
  /// Returns: the heap named in reports; null if unset, or at level `fast`.
  [[nodiscard]] const void* heap() const noexcept { return registration_.heap(); }

  /// Effects: keeps the requested bytes of the extent at `p`. Expects: level hardened.
  void keep_requested(const void* p, std::size_t bytes) noexcept { map_.find(p)->requested.set(bytes); }

  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }
  [[nodiscard]] std::size_t table_bytes() const noexcept {
    return map_.entries() != first_ ? map_.capacity() * sizeof(window) : 0;
  }

  /// Complexity: O(windows).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t held = 0;
    for_each([&](const window& each) { held += each.bytes(); });
    return held == held_bytes_ && map_.invariant();
  }

protected:
  static constexpr std::size_t first_count = 8;

  constexpr extent_windows() noexcept = default;
  ~extent_windows() = default;

  /// Effects: uses the first table, `first_count` slots of the owner. Its address is far from fields in frequent use.
  constexpr void begin(window* first) noexcept {
    first_ = first;
    map_.move_to(first, first_count);
  }

  /// Expects: `bytes <= max_block_bytes`.
  [[nodiscard]] static constexpr std::size_t windows_of(std::size_t bytes) noexcept {
    return (bytes + window_bytes - 1) / window_bytes;
  }
  [[nodiscard]] std::size_t count() const noexcept { return map_.count(); }
  [[nodiscard]] bool has_room_for(std::size_t windows) const noexcept { return map_.has_room_for(promised_ + windows); }
  /// Returns: bytes of a table with room for `windows` windows more, held beside the present one; 0 if that has room.
  [[nodiscard]] std::size_t wider_table_bytes(std::size_t windows) const noexcept {
    return has_room_for(windows) ? 0 : std::bit_ceil((count() + promised_ + windows) * 2) * sizeof(window);
  }

  /// A table, or none.
  struct table {
    window* entries = nullptr;
    std::size_t bytes = 0;
  };
  /// Effects: uses another table if it is the wider one. Returns: the one that is not in use.
  [[nodiscard]] table replace_table(table wide) noexcept {
    if (wide.bytes <= map_.capacity() * sizeof(window)) return wide;
    const std::size_t were = table_bytes();
    const heap_registration_if_checked::change moving(registration_.lock());
    return {map_.move_to(wide.entries, wide.bytes / sizeof(window)), were};
  }

  /// Effects: promises room that is there to windows of which a call decides; `0 - windows` takes it back.
  void promise(std::size_t windows) noexcept { promised_ += windows; }
  [[nodiscard]] std::size_t promised_bytes() const noexcept { return promised_ * window_bytes; }

  /// Effects: enters all windows of an extent. Expects: there is room.
  ASHLAR_COLD void remember(std::byte* p, std::size_t bytes, std::size_t alignment, bool is_segment) noexcept {
    const heap_registration_if_checked::change entering(registration_.lock());
    held_bytes_ += bytes;
    for (std::size_t i = 0; i < windows_of(bytes); ++i) map_.insert(window::of(p, i, bytes, alignment, is_segment));
  }
  /// As above, of an extent that was another one.
  ASHLAR_COLD void remember(const window& was, std::byte* p, std::size_t bytes, std::size_t alignment) noexcept {
    remember(p, bytes, alignment, was.is_segment());
    if constexpr (checking_level >= checking::hardened) map_.find(p)->requested = was.requested;
  }
  ASHLAR_COLD void forget(const window& extent) noexcept {
    recent_.clear();
    const heap_registration_if_checked::change leaving(registration_.lock());
    held_bytes_ -= extent.bytes();
    for (std::size_t at = 0; at < extent.bytes(); at += window_bytes) map_.erase(address_of(extent.start) + at);
  }
  /// Effects: forgets all extents. Returns: the table, no longer in use.
  [[nodiscard]] table forget_all() noexcept {
    const table gone{map_.entries(), table_bytes()};
    recent_.clear();
    const heap_registration_if_checked::change leaving(registration_.lock());
    map_ = {};
    map_.move_to(first_, first_count);
    held_bytes_ = 0;
    return gone;
  }

private:
  window* first_ = nullptr;
  page_map map_;
  std::size_t promised_ = 0;  // windows
  std::size_t held_bytes_ = 0;
  ASHLAR_NO_UNIQUE_ADDRESS heap_registration_if_checked registration_;
  ASHLAR_NO_UNIQUE_ADDRESS mutable recent_segments_if_checked recent_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
