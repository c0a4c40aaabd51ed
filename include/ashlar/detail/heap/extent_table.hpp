// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The extents of a heap up to a limit, found by address: what an extent map does with any upstream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/heap_registry.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A spare huge block of a heap with guards holds no memory, and each access to it is a fault; opened, it is zero. A
/// spare segment stays accessible, since its head is read. `Pages`: the `page_discard` of the heap. Thread safety:
/// none, for one extent.
template <class Pages>
class spare_guards {
public:
  static constexpr bool are_kept = Pages::has_guards;

  /// Returns: whether the extent is inaccessible while it is spare.
  [[nodiscard]] static bool has(const window& extent) noexcept { return are_kept && !extent.is_segment(); }

  /// @{ Returns: false if the system refuses, as beyond its number of mappings: the block is as before, or zero.
  /// Effects: drops the contents and makes all pages inaccessible; the reverse. Expects: `has(extent)`.
  [[nodiscard]] static bool close([[maybe_unused]] const window& extent) noexcept {
    if constexpr (are_kept) {
      if (!Pages::discard(extent.start, extent.bytes())) std::memset(extent.start, 0, extent.bytes());  // locked pages
      return Pages::protect(extent.start, extent.bytes(), false);
    } else {
      return true;
    }
  }
  [[nodiscard]] static bool open([[maybe_unused]] const window& extent) noexcept {
    if constexpr (are_kept) return Pages::protect(extent.start, extent.bytes(), true);
    else return true;
  }
  /// @}
};

/// The spare extents of a heap, at most sixteen, in the order of their frees. Thread safety: none. Never allocates.
/// Complexity: O(extents), at most `most`.
class spare_extents {
public:
  static constexpr std::size_t most = 16;
  static constexpr std::size_t none = most;

  [[nodiscard]] bool is_full() const noexcept { return count_ == most; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] const window& operator[](std::size_t i) const noexcept { return extents_[i]; }

  /// Expects: there is room.
  void add(const window& extent) noexcept {
    ASHLAR_ASSERT(!is_full());
    extents_[count_++] = extent;
    bytes_ += extent.bytes();
  }

  /// Effects: removes an extent. Returns: it.
  window remove(std::size_t i) noexcept {
    const window gone = extents_[i];
    std::memmove(extents_ + i, extents_ + i + 1, (count_ - i - 1) * sizeof(window));
    --count_;
    old_ -= i < old_ ? 1 : 0;
    bytes_ -= gone.bytes();
    return gone;
  }

  /// Returns: the index of the extent that starts at `p`, or `none`.
  [[nodiscard]] std::size_t find(const void* p) const noexcept {
    for (std::size_t i = 0; i < count_; ++i)
      if (extents_[i].start == p) return i;
    return none;
  }

  /// Returns: the bytes of the largest extent that may serve a request: twice as many, or from level `checked` on,
  /// which checks sizes, an eighth more.
  [[nodiscard]] static constexpr std::size_t most_for(std::size_t bytes) noexcept {
    return bytes + bytes / (checking_level >= checking::checked ? 8 : 1);
  }

  /// Returns: the index of the smallest extent with room, at most `most_for(bytes)`, the newest of its size; or `none`.
  [[nodiscard]] std::size_t best_for(std::size_t bytes, std::size_t alignment) const noexcept {
    std::size_t best = none, least = most_for(bytes);
    for (std::size_t i = count_; i-- != 0;) {
      const std::size_t held = extents_[i].bytes();
      if (held < bytes || held > least || !is_aligned(extents_[i].start, alignment)) continue;
      best = i;
      if (held == bytes) break;
      least = held - 1;
    }
    return best;
  }

  /// Returns: the index of the smallest extent with room, or else of the largest extent; or `none`.
  [[nodiscard]] std::size_t nearest_to(std::size_t bytes, std::size_t alignment) const noexcept {
    std::size_t above = none, below = none;
    for (std::size_t i = count_; i-- != 0;) {
      const std::size_t held = extents_[i].bytes();
      if (held < bytes) below = below == none || held > extents_[below].bytes() ? i : below;
      else if (is_aligned(extents_[i].start, alignment))
        above = above == none || held < extents_[above].bytes() ? i : above;
    }
    return above != none ? above : below;
  }

  /// Effects: ends an epoch. Returns: the number of extents, the first ones, that were held during all of it.
  std::size_t end_epoch() noexcept {
    const std::size_t were = old_;
    old_ = count_;
    return were;
  }

  void clear() noexcept { count_ = old_ = bytes_ = 0; }

  [[nodiscard]] bool invariant() const noexcept {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < count_; ++i) sum += extents_[i].bytes();
    return sum == bytes_ && old_ <= count_;
  }

private:
  std::size_t count_ = 0;
  std::size_t old_ = 0;  // extents held since before the epoch
  std::size_t bytes_ = 0;
  window extents_[most] = {};
};

class extent_table;

/// A call of the upstream, without a lock. Returns: null if it is refused.
using upstream_call = void* (*)(extent_table& of, const window& extent, std::size_t bytes,
                                std::uintptr_t other) noexcept;

/// The calls of an `extent_table` on the upstream of the extent map around it. Null: the upstream cannot do so.
struct extent_calls {
  /// Returns: memory for an extent of that kind or, with less alignment than a window, for a table. `other`: alignment.
  upstream_call take;
  /// @{ Effects: gives an extent back, `other`: 1 if its heap ends, else 0; or a table of `bytes` bytes at `other`.
  upstream_call give;
  upstream_call give_table;
  /// @}
  /// Effects: the extent has `bytes` bytes, in place.
  upstream_call expand;
  /// Returns: the new address of the moved pages, which the table has already; or null, and nothing has moved. Calls
  /// the upstream by `call`.
  std::byte* (*move)(extent_table& of, const window& extent, std::size_t bytes, std::size_t alignment) noexcept;
  /// Effects: tells an upstream that tracks extents of a split.
  void (*split)(extent_table& of, const window& extent, std::size_t head) noexcept;
  /// Effects: closes or opens a spare huge block, as `spare_guards`. `other`: whether it closes.
  ASHLAR_NO_UNIQUE_ADDRESS if_hardened<upstream_call> guard;
  bool takes_back;  ///< memory given back may be reused, in any order
};

/// The code of an `extent_map`, once for all upstreams. Thread safety: none.
class extent_table : public extent_windows {
public:
  /// Returns: the result of `attempt()`; if that is null or false, of a second one after spare extents went back.
  template <class F>
  ASHLAR_INLINE auto retry_after_purge(F attempt) noexcept {
    auto got = attempt();
    if (!got && has_purged()) got = attempt();
    return got;
  }

  /// Returns: a new extent, or null. Expects: `bytes` is a multiple of 4096, `alignment` at least a window.
  [[nodiscard]] ASHLAR_COLD std::byte* take(std::size_t bytes, std::size_t alignment, bool is_segment) noexcept {
    return retry_after_purge([&]() noexcept { return try_take(bytes, alignment, is_segment); });
  }

  /// Effects: gives an extent back. Expects: it starts at `p`.
  ASHLAR_COLD void give(const void* p) noexcept { give_removed(remove(p)); }

  /// @{ The parts of `take`, `give` and `resize` beside the calls of the upstream.
  /// Effects: counts memory of the upstream as an extent. Returns: false, without an effect, if the table has no room,
  /// or other threads have reached the limit meanwhile.
  [[nodiscard]] ASHLAR_COLD bool add(void* p, std::size_t bytes, std::size_t alignment, bool is_segment) noexcept {
    if (!make_room(windows_of(bytes)) || !is_within_limit(bytes)) return false;
    remember(static_cast<std::byte*>(p), bytes, alignment, is_segment);
    return true;
  }
  /// Effects: forgets an extent. Returns: it. Expects: it starts at `p`.
  [[nodiscard]] ASHLAR_COLD window remove(const void* p) noexcept {
    const window gone = *find(p);
    forget(gone);
    mark_live(gone.start, gone.bytes());
    return gone;
  }
  /// Returns: whether an extent may have `bytes` bytes, and the table has room for it. Expects: it starts at `p`.
  [[nodiscard]] ASHLAR_COLD bool may_resize(const void* p, std::size_t bytes) noexcept {
    const window was = *find(p);
    const std::size_t more = windows_of(bytes) - detail::min(windows_of(bytes), windows_of(was.bytes()));
    // The table grows first, since a grown extent might not shrink; but not for an absurd size.
    return (has_room_for(more) || more <= count() + 256) && may_have(was, bytes, more);
  }
  /// Effects: an extent has `bytes` bytes now. Expects: it starts at `p`; there is room in the table.
  ASHLAR_COLD void set_size(const void* p, std::size_t bytes) noexcept {
    const window was = *find(p);
    forget(was);
    remember(was, was.start, bytes, was.alignment());
  }
  /// @}

  /// Returns: whether an extent has `bytes` bytes now, in place. Expects: it starts at `p`; as `take`.
  [[nodiscard]] ASHLAR_COLD bool resize(const void* p, std::size_t bytes) noexcept {
    if (calls_->expand == nullptr || !may_resize(p, bytes)) return false;
    const window was = *find(p);
    const std::size_t least = detail::min(bytes, was.bytes()), change = detail::max(bytes, was.bytes()) - least;
    set_size(p, least);  // another thread may have the addresses behind at once
    promise(windows_of(change));
    const bool has_size = call(calls_->expand, was, bytes, 0) != nullptr;
    promise(0 - windows_of(change));
    set_size(p, has_size ? bytes : was.bytes());
    return has_size;
  }

  /// Returns: the new address of an extent of `bytes` bytes, moved by its pages without a copy; or null, and the extent
  /// is unchanged. Expects: it starts at `p` and is smaller; as `take`.
  [[nodiscard]] ASHLAR_COLD std::byte* move(const void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const window was = *find(p);
    return calls_->move != nullptr ? calls_->move(*this, was, bytes, alignment) : nullptr;
  }

  /// Effects: makes two extents of one, the first of `head` bytes. Expects: it starts at `p` and is longer; `head` is a
  /// number of windows.
  ASHLAR_COLD void split(const void* p, std::size_t head) noexcept {
    const window whole = *find(p);
    forget(whole);
    remember(whole.start, head, whole.alignment(), whole.is_segment());
    remember(whole.start + head, whole.bytes() - head, window_bytes, whole.is_segment());
  }

  /// Effects: makes an extent spare. It keeps its contents, but for a huge block with `spare_guards`; if the system
  /// refuses these, it goes back. Expects: it starts at `p`.
  ASHLAR_COLD void keep(const void* p) noexcept {
    const window extent = *find(p);
    if (has_guards(extent)) {
      if (!guard(extent, true)) return give(p);
    } else if constexpr (keeps_canaries) {
      poison_block(extent.start, most_poisoned);
    }
    mark_free(extent.start, extent.bytes());
    if (!spares_.is_full()) return spares_.add(extent);
    const window oldest = spares_.remove(0);
    spares_.add(extent);  // before a call, so that a second free finds it
    give_former_spare(oldest);
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
    if (has_guards(extent) && !guard(extent, false)) return give(extent.start), nullptr;
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
    for (std::size_t old = calls_->takes_back ? spares_.end_epoch() : 0; old != 0 && spares_.count() != 0; --old)
      give_spare(0);
  }

  [[nodiscard]] bool is_spare(const void* start) const noexcept { return spares_.find(start) != spare_extents::none; }
  [[nodiscard]] std::size_t spare_bytes() const noexcept { return spares_.bytes(); }

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
    const unlocked_calls::locked_scope calls(unlocked_);  // no other thread uses it
    for (std::size_t i = 0; i < spares_.count(); ++i) verify(spares_[i]);
    for_each([&](const window& each) {
      mark_live(each.start, each.bytes());
      static_cast<void>(calls_->give(*this, each, 0, 1));
    });
    spares_.clear();
    give_table(forget_all());
  }

  /// Returns: how the upstream is called; as it comes, unless a lock is named.
  [[nodiscard]] constexpr unlocked_calls& unlocked() noexcept { return unlocked_; }

  [[nodiscard]] std::size_t charged_bytes() const noexcept { return charged_bytes_; }

  /// Complexity: O(windows).
  [[nodiscard]] bool invariant() const noexcept {
    for (std::size_t i = 0; i < spares_.count(); ++i) {
      const window* const found = find(spares_[i].start);
      if (found == nullptr || found->start != spares_[i].start || found->extent != spares_[i].extent) return false;
    }
    return extent_windows::invariant() && spares_.invariant();
  }

protected:
  constexpr extent_table(std::size_t max_bytes, const extent_calls& calls) noexcept
      : calls_(&calls), max_bytes_(max_bytes) {
    begin(first_windows_);
  }
  ~extent_table() = default;

  /// Effects: makes the next calls calls of code that is certain to be loaded.
  void use(const extent_calls& calls) noexcept { calls_ = &calls; }

  /// Effects: makes room in the table for `windows` windows more. Returns: whether there is room.
  [[nodiscard]] ASHLAR_COLD bool make_room(std::size_t windows) noexcept {
    while (const std::size_t wide_bytes = wider_table_bytes(windows)) {
      void* const wide = call_take(wide_bytes, alignof(window), false);
      if (wide == nullptr) return false;
      give_table(replace_table({static_cast<window*>(wide), wide_bytes}));  // another thread may have been first
    }
    return true;
  }

  /// Returns: the result of a call, which is made without the lock.
  ASHLAR_COLD void* call(upstream_call f, const window& extent, std::size_t bytes, std::uintptr_t other) noexcept {
    const unlocked_calls::call under_way(unlocked_);
    return f(*this, extent, bytes, other);
  }

  /// @{ Around a call that moves an extent, which is in no table meanwhile. Returns: whether there is room for one of
  /// `bytes` bytes; otherwise nothing has happened. Expects: it was smaller.
  [[nodiscard]] ASHLAR_COLD bool begin_move(const window& was, std::size_t bytes) noexcept {
    if (!may_have(was, bytes, windows_of(bytes))) return false;
    promise(windows_of(bytes));
    forget(was);
    return true;
  }
  /// Returns: `place`, where the extent is now; null: where it was.
  ASHLAR_COLD std::byte* end_move(const window& was, void* place, std::size_t bytes, std::size_t alignment) noexcept {
    auto* const p = static_cast<std::byte*>(place);
    promise(0 - windows_of(bytes));
    p != nullptr ? remember(was, p, bytes, alignment) : remember(was, was.start, was.bytes(), was.alignment());
    return p;
  }
  /// @}

private:
  [[nodiscard]] bool has_guards(const window& extent) const noexcept {
    return calls_->guard && *calls_->guard != nullptr && !extent.is_segment();
  }

  [[nodiscard]] ASHLAR_COLD std::byte* try_take(std::size_t bytes, std::size_t alignment, bool is_segment) noexcept {
    auto* const p = static_cast<std::byte*>(call_take(bytes, alignment, is_segment));
    if (p == nullptr || add(p, bytes, alignment, is_segment)) return p;  // the table grows only after success
    give_removed(window::of(p, 0, bytes, alignment, is_segment));
    return nullptr;
  }

  // Returns: memory within the limit, or null.
  [[nodiscard]] ASHLAR_COLD void* call_take(std::size_t bytes, std::size_t alignment, bool is_segment) noexcept {
    return is_within_limit(bytes) ? call(calls_->take, kinds[is_segment ? 1 : 0], bytes, alignment) : nullptr;
  }

  ASHLAR_COLD void give_removed(const window& gone) noexcept { static_cast<void>(call(calls_->give, gone, 0, 0)); }

  // Returns: whether the system has not refused. Meanwhile the extent is in no table.
  [[nodiscard]] bool guard(const window& extent, bool closes) noexcept {
    promise(windows_of(extent.bytes()));
    forget(extent);
    const bool is_done = call(*calls_->guard, extent, 0, closes ? 1 : 0) != nullptr;
    static_cast<void>(end_move(extent, nullptr, extent.bytes(), extent.alignment()));
    return is_done;
  }

  void give_table(table gone) noexcept {
    if (gone.bytes != 0) static_cast<void>(call(calls_->give_table, kinds[0], gone.bytes, address_of(gone.entries)));
  }

  // Returns: whether memory may have come back: spare extents, and what other threads are giving back.
  [[nodiscard]] ASHLAR_COLD bool has_purged() noexcept {
    const bool has_given = give_until(0) != 0;
    return unlocked_.wait_for_others() || has_given;
  }

  [[nodiscard]] bool is_within_limit(std::size_t more) const noexcept {
    return more <= max_bytes_ && held_bytes() + promised_bytes() + charged_bytes_ + table_bytes() <= max_bytes_ - more;
  }

  // Returns: whether an extent may have `bytes` bytes, with room in the table for `windows` windows more. Gives spare
  // extents back if the limit requires it. A call lets others in: then both are asked again.
  [[nodiscard]] ASHLAR_COLD bool may_have(const window& extent, std::size_t bytes, std::size_t windows) noexcept {
    if (bytes <= extent.bytes()) return true;
    const auto is_within = [&]() noexcept {
      return is_within_limit(bytes - extent.bytes() + wider_table_bytes(windows));
    };
    while (retry_after_purge(is_within)) {
      if (has_room_for(windows)) return true;
      if (!make_room(windows)) return false;
    }
    return false;
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

  ASHLAR_COLD std::size_t give_until(std::size_t most) noexcept {
    std::size_t given = 0;
    while (spares_.bytes() > most) given += give_spare(0);
    return given;
  }

  std::size_t give_spare(std::size_t i) noexcept { return give_former_spare(spares_.remove(i)); }
  ASHLAR_COLD std::size_t give_former_spare(const window& extent) noexcept {
    verify(extent);
    give(extent.start);
    return extent.bytes();
  }

  void verify([[maybe_unused]] const window& spare) const noexcept {
    if constexpr (keeps_canaries)
      if (!has_guards(spare)) verify_block_poison(spare.start, most_poisoned, most_poisoned, heap());
  }

  static constexpr window kinds[2] = {{.extent = 0}, {.extent = 1}};  // a segment or not

  const extent_calls* calls_;
  std::size_t max_bytes_;
  std::size_t charged_bytes_ = 0;  // held from the upstream outside of extents
  unlocked_calls unlocked_;
  spare_extents spares_;
  window first_windows_[first_count] = {};
};

}  // namespace ashlar::ASHLAR_ABI::detail
