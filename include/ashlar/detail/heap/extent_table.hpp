// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The extents of a heap up to a limit, found by address: what an extent map does with any upstream.
#pragma once

#include <bit>
#include <cstddef>
#include <iterator>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/heap_registry.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/spare_extents.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/function_ref.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

class extent_table;

/// The calls of an `extent_table` on the upstream of the extent map around it. Null: the upstream cannot do so.
struct extent_calls {
  /// Returns: memory for an extent or, with less alignment than a window, for a table; or null.
  void* (*take)(extent_table& of, std::size_t bytes, std::size_t alignment, bool is_segment) noexcept;
  /// @{ Effects: gives an extent or a table back.
  void (*give)(extent_table& of, const window& extent) noexcept;
  void (*give_table)(extent_table& of, window* table, std::size_t bytes) noexcept;
  /// @}
  /// Returns: whether the extent has `bytes` bytes now, in place.
  bool (*expand)(extent_table& of, const window& extent, std::size_t bytes) noexcept;
  /// Returns: the new address of the moved pages, with room in the table; or null, and nothing has moved.
  std::byte* (*move)(extent_table& of, const window& extent, std::size_t bytes, std::size_t alignment) noexcept;
  /// Effects: tells an upstream that tracks extents of a split.
  void (*split)(extent_table& of, const window& extent, std::size_t head) noexcept;
  /// Effects: closes or opens a spare huge block, as `spare_guards`. Returns: whether the system has not refused.
  bool (*guard)(const window& extent, bool closes) noexcept;
  bool takes_back;  ///< memory given back may be reused, in any order
};

/// The code of an `extent_map`, once for all upstreams. Thread safety: none.
class extent_table {
public:
  extent_table(const extent_table&) = delete;
  extent_table& operator=(const extent_table&) = delete;

  /// Returns: the result of `attempt()`; if that is null or false, of a second one after spare extents went back.
  template <class F>
  ASHLAR_INLINE auto retry_after_purge(F attempt) noexcept {
    auto got = attempt();
    if (!got && give_until(0) != 0) got = attempt();
    return got;
  }

  /// Returns: a new extent, or null. Expects: `bytes` is a multiple of 4096, `alignment` at least a window.
  [[nodiscard]] ASHLAR_COLD std::byte* take(std::size_t bytes, std::size_t alignment, bool is_segment) noexcept {
    return retry_after_purge([&]() noexcept { return try_take(bytes, alignment, is_segment); });
  }

  /// Effects: gives an extent back. Expects: it starts at `p`.
  ASHLAR_COLD void give(const void* p) noexcept {
    const window gone = remove(p);
    calls_->give(*this, gone);
  }

  /// @{ The parts of `take`, `give` and `resize` beside the calls of the upstream.
  /// Effects: counts memory of the upstream as an extent. Returns: false, without an effect, if the table has no room.
  [[nodiscard]] ASHLAR_COLD bool add(void* p, std::size_t bytes, std::size_t alignment, bool is_segment) noexcept {
    held_bytes_ += bytes;
    if (!make_room(windows_of(bytes))) return held_bytes_ -= bytes, false;
    remember(static_cast<std::byte*>(p), bytes, alignment, is_segment);
    return true;
  }
  /// Effects: forgets an extent. Returns: it. Expects: it starts at `p`.
  [[nodiscard]] ASHLAR_COLD window remove(const void* p) noexcept {
    const window gone = *map_.find(p);
    forget(gone);
    mark_live(gone.start, gone.bytes());
    held_bytes_ -= gone.bytes();
    return gone;
  }
  /// Returns: whether an extent may have `bytes` bytes, and the table has room for it. Expects: it starts at `p`.
  [[nodiscard]] ASHLAR_COLD bool may_resize(const void* p, std::size_t bytes) noexcept {
    const window& was = *map_.find(p);
    const std::size_t more = windows_of(bytes) - detail::min(windows_of(bytes), windows_of(was.bytes()));
    if (!may_grow(was, bytes, more)) return false;
    // The table grows first, since a grown extent might not shrink; but not for an absurd size.
    return map_.has_room_for(more) || (more <= map_.count() + 256 && make_room(more));
  }
  /// Effects: an extent has `bytes` bytes now. Expects: it starts at `p`; there is room in the table.
  ASHLAR_COLD void set_size(const void* p, std::size_t bytes) noexcept {
    const window was = *map_.find(p);
    replace(was, was.start, bytes, was.alignment());
  }
  /// @}

  /// Returns: whether an extent has `bytes` bytes now, in place. Expects: it starts at `p`; as `take`.
  [[nodiscard]] ASHLAR_COLD bool resize(const void* p, std::size_t bytes) noexcept {
    if (calls_->expand == nullptr || !may_resize(p, bytes)) return false;
    const window was = *map_.find(p);
    return calls_->expand(*this, was, bytes) && (set_size(p, bytes), true);
  }

  /// Returns: the new address of an extent of `bytes` bytes, moved by its pages without a copy; or null, and the extent
  /// is unchanged. Expects: it starts at `p` and is smaller; as `take`.
  [[nodiscard]] ASHLAR_COLD std::byte* move(const void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if (calls_->move == nullptr) return nullptr;
    const window was = *map_.find(p);
    if (!may_grow(was, bytes, windows_of(bytes))) return nullptr;
    std::byte* const place = calls_->move(*this, was, bytes, alignment);
    if (place != nullptr) replace(was, place, bytes, alignment);
    return place;
  }

  /// Effects: makes two extents of one, the first of `head` bytes. Expects: it starts at `p` and is longer; `head` is a
  /// number of windows.
  ASHLAR_COLD void split(const void* p, std::size_t head) noexcept {
    const window whole = *map_.find(p);
    forget(whole);
    remember(whole.start, head, whole.alignment(), whole.is_segment());
    remember(whole.start + head, whole.bytes() - head, window_bytes, whole.is_segment());
  }

  /// Effects: makes an extent spare. It keeps its contents, but for a huge block with `spare_guards`; if the system
  /// refuses these, it goes back. Expects: it starts at `p`.
  ASHLAR_COLD void keep(const void* p) noexcept {
    if (spares_.is_full()) give_spare(0);
    const window& extent = *map_.find(p);
    if (has_guards(extent)) {
      if (!calls_->guard(extent, true)) return give(p);
    } else if constexpr (keeps_canaries) {
      poison_block(extent.start, most_poisoned);
    }
    mark_free(extent.start, extent.bytes());
    spares_.add(extent);
  }

  /// Returns: a former spare extent of at least `bytes` bytes, at most `spare_extents::most_for`; or null. It has any
  /// contents, but zeros where `guards` are kept and it is a huge block.
  [[nodiscard]] ASHLAR_COLD std::byte* take_spare(std::size_t bytes, std::size_t alignment) noexcept {
    std::size_t found = spares_.best_for(bytes, alignment);
    const bool fits = found != spare_extents::none;
    if (!fits && calls_->move != nullptr) found = spares_.nearest_to(bytes, alignment);
    if (found == spare_extents::none) return nullptr;
    const window extent = spares_.remove(found);
    verify(extent);
    if (has_guards(extent) && !calls_->guard(extent, false)) return give(extent.start), nullptr;
    mark_live(extent.start, extent.bytes());
    std::byte* const p = fits ? extent.start : refit(extent, bytes, alignment);
    if (p == nullptr) keep(extent.start);
    return p;
  }

  /// Effects: gives spare extents back, the oldest first, down to `most` bytes; none to an upstream that would lose
  /// them. Returns: bytes given back.
  ASHLAR_COLD std::size_t give_spares(std::size_t most) noexcept { return calls_->takes_back ? give_until(most) : 0; }

  /// Effects: ends an epoch: gives back the extents that were spare during all of it.
  ASHLAR_COLD_FOR_SPEED void age_spares() noexcept {
    for (std::size_t old = calls_->takes_back ? spares_.end_epoch() : 0; old != 0; --old) give_spare(0);
  }

  [[nodiscard]] bool is_spare(const void* start) const noexcept { return spares_.find(start) != spare_extents::none; }
  [[nodiscard]] std::size_t spare_bytes() const noexcept { return spares_.bytes(); }

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

  /// Effects: changes the limit. Extents beyond it stay.
  void set_max_bytes(std::size_t max_bytes) noexcept { max_bytes_ = max_bytes; }

  /// Effects: charges `bytes` outside of extents to the limit. Returns: whether they fit.
  [[nodiscard]] ASHLAR_COLD bool charge(std::size_t bytes) noexcept {
    const bool has_room = retry_after_purge([&]() noexcept { return is_within_limit(bytes); });
    charged_bytes_ += has_room ? bytes : 0;
    return has_room;
  }

  /// Effects: takes a charge back.
  void uncharge(std::size_t bytes) noexcept { charged_bytes_ -= bytes; }

  /// Effects: gives all extents and the table back.
  ASHLAR_COLD void release() noexcept {
    for (std::size_t i = 0; i < spares_.count(); ++i) verify(spares_[i]);
    for_each([&](const window& each) { give_up(each); });
    spares_.clear();
    window* const wide = slots_;
    const std::size_t bytes = table_bytes();
    forget_all();
    if (bytes != 0) calls_->give_table(*this, wide, bytes);
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
  [[nodiscard]] std::size_t charged_bytes() const noexcept { return charged_bytes_; }
  [[nodiscard]] std::size_t table_bytes() const noexcept {
    return slots_ != inside_ ? map_.capacity() * sizeof(window) : 0;
  }

  /// Complexity: O(windows).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t held = 0;
    for_each([&](const window& each) { held += each.bytes(); });
    for (std::size_t i = 0; i < spares_.count(); ++i) {
      const window* const found = map_.find(spares_[i].start);
      if (found == nullptr || found->start != spares_[i].start || found->extent != spares_[i].extent) return false;
    }
    return held == held_bytes_ && map_.invariant() && spares_.invariant();
  }

protected:
  constexpr extent_table(std::size_t max_bytes, const extent_calls& calls) noexcept
      : calls_(&calls), max_bytes_(max_bytes) {
    map_.move_to(inside_, std::size(inside_));
  }
  ~extent_table() = default;

  /// Effects: makes the next calls calls of code that is certain to be loaded.
  void use(const extent_calls& calls) noexcept { calls_ = &calls; }

  [[nodiscard]] static constexpr std::size_t windows_of(std::size_t bytes) noexcept {
    return bytes / window_bytes + (bytes % window_bytes != 0 ? 1 : 0);
  }

  /// Effects: makes room in the table for `windows` windows more. Returns: whether there is room.
  [[nodiscard]] ASHLAR_COLD bool make_room(std::size_t windows) noexcept {
    const std::size_t wide_bytes = wider_table_bytes(windows), were = table_bytes();
    if (wide_bytes == 0) return true;
    void* const wide = is_within_limit(wide_bytes) ? calls_->take(*this, wide_bytes, alignof(window), false) : nullptr;
    if (wide == nullptr) return false;
    window* const before = move_windows_to(static_cast<window*>(wide), wide_bytes / sizeof(window));
    if (were != 0) calls_->give_table(*this, before, were);
    slots_ = static_cast<window*>(wide);
    return true;
  }

private:
  [[nodiscard]] bool has_guards(const window& extent) const noexcept {
    return calls_->guard != nullptr && !extent.is_segment();
  }

  [[nodiscard]] ASHLAR_COLD std::byte* try_take(std::size_t bytes, std::size_t alignment, bool is_segment) noexcept {
    if (!is_within_limit(bytes)) return nullptr;
    auto* const p = static_cast<std::byte*>(calls_->take(*this, bytes, alignment, is_segment));
    if (p == nullptr || add(p, bytes, alignment, is_segment)) return p;  // the table grows only after success
    calls_->give(*this, window::of(p, 0, bytes, alignment, is_segment));
    return nullptr;
  }

  [[nodiscard]] bool is_within_limit(std::size_t more) const noexcept {
    return more <= max_bytes_ && held_bytes_ + charged_bytes_ + table_bytes() <= max_bytes_ - more;
  }

  // Effects: gives spare extents back if the limit requires it, with a table of `windows` windows more.
  [[nodiscard]] ASHLAR_COLD bool may_grow(const window& extent, std::size_t bytes, std::size_t windows) noexcept {
    if (bytes <= extent.bytes()) return true;
    return retry_after_purge(
        [&]() noexcept { return is_within_limit(bytes - extent.bytes() + wider_table_bytes(windows)); });
  }

  // Returns: the extent with another size; or null, and it is unchanged or shorter.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE std::byte* refit(const window& extent, std::size_t bytes,
                                                        std::size_t alignment) noexcept {
    if (bytes > extent.bytes()) return move(extent.start, bytes, alignment);
    const std::size_t head = cut(extent, windows_of(bytes) * window_bytes);
    return head <= spare_extents::most_for(bytes) || resize(extent.start, bytes) ? extent.start : nullptr;
  }

  // Effects: splits the tail of an extent off as a spare one, if it is large enough. Returns: bytes left.
  ASHLAR_INLINE_FOR_SIZE std::size_t cut(const window& extent, std::size_t head) noexcept {
    if (extent.bytes() < head + window_bytes / 4) return extent.bytes();
    if (calls_->split != nullptr) calls_->split(*this, extent, head);
    split(extent.start, head);
    keep(extent.start + head);
    return head;
  }

  ASHLAR_COLD void remember(std::byte* p, std::size_t bytes, std::size_t alignment, bool is_segment) noexcept {
    const heap_registration_if_checked::change entering(registration_.lock());
    for (std::size_t i = 0; i < windows_of(bytes); ++i) map_.insert(window::of(p, i, bytes, alignment, is_segment));
  }

  ASHLAR_COLD void forget(const window& extent) noexcept {
    recent_.clear();
    const heap_registration_if_checked::change leaving(registration_.lock());
    for (std::size_t at = 0; at < extent.bytes(); at += window_bytes) map_.erase(address_of(extent.start) + at);
  }

  ASHLAR_COLD void replace(const window& was, std::byte* p, std::size_t bytes, std::size_t alignment) noexcept {
    forget(was);
    remember(p, bytes, alignment, was.is_segment());
    held_bytes_ += bytes - was.bytes();
  }

  void forget_all() noexcept {
    recent_.clear();
    const heap_registration_if_checked::change leaving(registration_.lock());
    slots_ = inside_;
    map_ = {};
    map_.move_to(inside_, std::size(inside_));
  }

  ASHLAR_COLD std::size_t give_until(std::size_t most) noexcept {
    const std::size_t were = spares_.bytes();
    while (spares_.bytes() > most) give_spare(0);
    return were - spares_.bytes();
  }

  ASHLAR_COLD void give_spare(std::size_t i) noexcept {
    const window extent = spares_.remove(i);
    verify(extent);
    give(extent.start);
  }

  void verify([[maybe_unused]] const window& spare) const noexcept {
    if constexpr (keeps_canaries)
      if (!has_guards(spare)) verify_block_poison(spare.start, most_poisoned, most_poisoned, heap());
  }

  ASHLAR_COLD void give_up(const window& extent) noexcept {
    mark_live(extent.start, extent.bytes());
    held_bytes_ -= extent.bytes();
    calls_->give(*this, extent);
  }

  // Returns: bytes of a table with room for `windows` windows more, held beside the present one; 0 if that has room.
  [[nodiscard]] std::size_t wider_table_bytes(std::size_t windows) const noexcept {
    return map_.has_room_for(windows) ? 0 : std::bit_ceil((map_.count() + windows) * 2) * sizeof(window);
  }

  [[nodiscard]] window* move_windows_to(window* table, std::size_t capacity) noexcept {
    const heap_registration_if_checked::change moving(registration_.lock());
    return map_.move_to(table, capacity);
  }

  const extent_calls* calls_;
  window inside_[8] = {};
  window* slots_ = inside_;
  page_map map_;
  spare_extents spares_;
  std::size_t max_bytes_;
  std::size_t held_bytes_ = 0;
  std::size_t charged_bytes_ = 0;  // held from the upstream outside of extents
  ASHLAR_NO_UNIQUE_ADDRESS heap_registration_if_checked registration_;
  ASHLAR_NO_UNIQUE_ADDRESS mutable recent_segments_if_checked recent_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
