// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The registry of all heaps of the process from level checked on: it finds the owner of an address without reading it.
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/os/native.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The entry of a heap. It lies in the heap, so that the registry allocates nothing.
struct registered_heap : list_node<registered_heap> {
  const void* heap = nullptr;
  const page_map* windows = nullptr;
  stack_thread stack{this};
};

/// The registered heaps.
///
///     free of p -> unknown to the heap -> registry: the page map of each heap -> the owner of p, or none
///
/// A heap reads its own page map without the lock and changes it under the lock, since other threads may search it.
/// Thread safety: any thread. Complexity: O(heaps) for `find`, O(1) otherwise, under one lock.
class heap_registry {
public:
  void enter(registered_heap& line) noexcept {
    const check_scope<spin_lock> held(lock_);
    heaps_.push_back(&line);
  }

  /// Expects: the entry is registered.
  void leave(registered_heap& line) noexcept {
    const check_scope<spin_lock> held(lock_);
    heaps_.erase(&line);
  }

  /// Returns: the heap with memory at an address, or null: of nested ones the one with the smallest extent there.
  /// `bytes_in(windows)`: the bytes of the extent of a heap, as `extent_at`.
  template <class F>
  [[nodiscard]] const void* find(F bytes_in) const noexcept {
    const check_scope<spin_lock> held(lock_);
    std::size_t least = 0;
    const void* owner = nullptr;
    for (const registered_heap* line = heaps_.front(); line != nullptr; line = line->next) {
      const std::size_t bytes = bytes_in(*line->windows);
      if (bytes == 0 || (owner != nullptr && least <= bytes)) continue;
      least = bytes;
      owner = line->heap;
    }
    return owner;
  }

  /// Effects: keeps all page maps unchanged. Expects: a short time; `find` and all changes wait for it.
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }

  /// Effects: in a forked child: removes the heaps on stacks of threads that it lacks. Expects: the lock is held.
  ASHLAR_COLD void leave_gone() noexcept {
    for (registered_heap* each = heaps_.front(); each != nullptr;) {
      registered_heap& line = *std::exchange(each, each->next);
      if (!line.stack.is_gone()) continue;
      heaps_.erase(&line);
      line.windows = nullptr;
    }
  }

private:
  mutable spin_lock lock_;
  list<registered_heap> heaps_;
};

static_assert(std::is_trivially_destructible_v<heap_registry>, "usable after main");

/// The registry of the process, constant-initialised and never destroyed: usable before and after `main`.
constinit inline heap_registry process_heaps;

/// The registration of a heap: its entry from level `checked` on, no bytes and no code at `fast`.
class heap_registration {
public:
  /// The scope of a change of the page map. No call in it may search the registry, as calls of an upstream may.
  using change = if_checked<lock_scope<heap_registry>>;

  heap_registration() = default;
  heap_registration(const heap_registration&) = delete;  // the registry points to it
  heap_registration& operator=(const heap_registration&) = delete;
  ~heap_registration() {
    if (line_ && line_->windows != nullptr) process_heaps.leave(*line_);
  }

  /// Effects: sets the heap named in reports, for addresses that another registration enters.
  constexpr void name(const void* heap) noexcept {
    if (line_) line_->heap = heap;
  }

  /// Effects: registers the heap. From now on a fork waits until no thread holds the registry.
  void enter(const void* heap, const page_map& windows) noexcept {
    if (!line_) return;
    fork_participants::enter(participant_);
    line_->heap = heap;
    line_->windows = &windows;
    process_heaps.enter(*line_);
  }

  [[nodiscard]] const void* heap() const noexcept { return line_ ? line_->heap : nullptr; }

private:
  // A page map changes under the lock of its heap, so a fork takes the registry's lock last.
  static inline constinit fork_participant participant_ = at_last_step(process_heaps);

  ASHLAR_NO_UNIQUE_ADDRESS if_checked<registered_heap> line_;
};

/// The windows of the extents of a heap: its page map, which other heaps may search from level `checked` on. A few
/// windows need no memory; more lie in a table of the owner. Room may be promised: to extents that calls under way
/// decide of. Invariant: `held_bytes` is the sum of all extents. Thread safety: none.
class extent_windows {
public:
  extent_windows(const extent_windows&) = delete;
  extent_windows& operator=(const extent_windows&) = delete;

  /// Returns: the window of the address, or null. `p` is not read.
  [[nodiscard]] const window* find(const void* p) const noexcept { return map_.find(p); }

  /// Returns: whether the address lies in a segment; false is a hint only, until `note_segment`. `p` is not read.
  [[nodiscard]] ASHLAR_INLINE bool has_recent_segment(const void* p) const noexcept {
    return recent_ && recent_->has(p);
  }
  /// Effects: `has_recent_segment` is right for `p`. Expects: `p` lies in a segment that is not spare.
  void note_segment(const void* p) const noexcept {
    if (recent_) recent_->note(p);
  }

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
  void keep_requested(const void* p, std::size_t bytes) noexcept { *map_.find(p)->requested = bytes; }

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
    [[maybe_unused]] const heap_registration::change moving(process_heaps);
    return {map_.move_to(wide.entries, wide.bytes / sizeof(window)), were};
  }

  /// Effects: promises room that is there to windows of which a call decides; `0 - windows` takes it back.
  void promise(std::size_t windows) noexcept { promised_ += windows; }
  [[nodiscard]] std::size_t promised_bytes() const noexcept { return promised_ * window_bytes; }

  /// Effects: enters all windows of an extent. Expects: there is room.
  ASHLAR_COLD void remember(std::byte* p, std::size_t bytes, std::size_t alignment, bool is_segment) noexcept {
    [[maybe_unused]] const heap_registration::change entering(process_heaps);
    held_bytes_ += bytes;
    for (std::size_t i = 0; i < windows_of(bytes); ++i) map_.insert(window::of(p, i, bytes, alignment, is_segment));
  }
  /// As above, of an extent that was another one.
  ASHLAR_COLD void remember(const window& was, std::byte* p, std::size_t bytes, std::size_t alignment) noexcept {
    remember(p, bytes, alignment, was.is_segment());
    if (was.requested) map_.find(p)->requested = was.requested;
  }
  ASHLAR_COLD void forget(const window& extent) noexcept {
    if (recent_) recent_->clear();
    [[maybe_unused]] const heap_registration::change leaving(process_heaps);
    held_bytes_ -= extent.bytes();
    for (std::size_t at = 0; at < extent.bytes(); at += window_bytes) map_.erase(address_of(extent.start) + at);
  }
  /// Effects: forgets all extents. Returns: the table, no longer in use.
  [[nodiscard]] table forget_all() noexcept {
    const table gone{map_.entries(), table_bytes()};
    if (recent_) recent_->clear();
    [[maybe_unused]] const heap_registration::change leaving(process_heaps);
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
  ASHLAR_NO_UNIQUE_ADDRESS heap_registration registration_;
  ASHLAR_NO_UNIQUE_ADDRESS mutable if_checked<recent_segments> recent_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
