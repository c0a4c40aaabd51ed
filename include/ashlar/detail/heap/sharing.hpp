// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the threads of a program share one heap: not at all, or by a lock and an inbox of freed cells.
#pragma once

#include <cstddef>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/parcel_sender.hpp>
#include <ashlar/detail/heap/retention_limit.hpp>
#include <ashlar/detail/remote_free/parcel.hpp>
#include <ashlar/detail/slab/size_classes.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// One thread uses the heap: there is nothing to lock, and nothing arrives.
class single_owner {
public:
  using whole = lock_scope<null_lock>;
  static constexpr bool sends = false;
  static constexpr bool owner_skips_lock = false;

  explicit single_owner(const heap_options&) noexcept {}

  [[nodiscard]] ASHLAR_INLINE whole lock_cold() noexcept { return whole(none_); }
  [[nodiscard]] ASHLAR_INLINE whole lock_call() noexcept { return whole(none_); }
  [[nodiscard]] ASHLAR_INLINE whole lock_all() noexcept { return whole(none_); }

  ASHLAR_INLINE void count_slow() noexcept {}
  template <class Stores>
  ASHLAR_INLINE Stores& drain_inbox(Stores& stores) noexcept {
    return stores;
  }
  template <class Stores>
  void end(Stores&) noexcept {}

private:
  ASHLAR_NO_UNIQUE_ADDRESS null_lock none_;
};

/// One thread owns the heap; others free its blocks, trim and inspect it. One lock, which is held
///
/// - at level `fast` behind the thread cache, about once in 64 requests of the owner: `lock_cold`;
/// - from `checked` on by whole calls, thread cache included, since the freeing call reports misuse: `lock_call`; but
///   as at `fast`, if an address alone leads to the owner of a block;
/// - at every level by calls that have no part in front of the lock: `lock_all`.
///
/// The holder may be inside a system call. At `fast` no free of a cell, a span or a parcel by another thread waits for
/// that: where the lock is held, it goes into the queue. A trim or a visit by another thread waits, and lets an owner
/// that waits in first; a trim does so between segments, too.
///
/// Parcels of freed blocks wait in a queue without the lock, up to a limit; the lock guards those that are taken out.
template <class Upstream>
class locked_with_inbox {
  using none = lock_scope<null_lock>;

public:
  using whole = report_scope<spin_lock>;  // a double free of a cell is found at every level, and reported without it
  static constexpr bool sends = frees_travel;
  /// Whether the owner uses its thread cache without the lock.
  static constexpr bool owner_skips_lock = sends || finds_owners<Upstream>;

  explicit constexpr locked_with_inbox(const heap_options& options) noexcept : in_transit_(options.retain_bytes) {}

  [[nodiscard]] ASHLAR_INLINE auto lock_cold() noexcept {
    if constexpr (owner_skips_lock) return lock_marked();
    else return none(none_);
  }
  [[nodiscard]] ASHLAR_INLINE auto lock_call() noexcept {
    if constexpr (owner_skips_lock) return none(none_);
    else return lock_marked();
  }
  [[nodiscard]] ASHLAR_INLINE whole lock_all() noexcept { return whole(lock_); }
  /// Returns: whether the lock is taken now, for `adopt_lock`; it is not waited for.
  [[nodiscard]] bool try_enter() noexcept { return lock_.try_lock(); }
  [[nodiscard]] whole adopt_lock() noexcept { return whole(lock_, already_held{}); }
  /// Effects: waits a while for an owner that waits for the lock. For other threads, before a call that holds it long.
  void let_owner_in() const noexcept { owner_.let_in(); }
  /// As above, within such a call. Expects: the caller holds the lock, and the heap is in order; the caller holds the
  /// lock of no other heap, since a fork waits for one after the other.
  ASHLAR_COLD void pause() noexcept {
    if (!owner_.is_set()) return;
    unlocked_calls calls;
    calls.share(lock_);
    const unlocked_calls::call outside(calls);
    owner_.let_in();
  }

  /// Effects: marks the heap as left by its owner, or as owned again. While it is left, the lock guards the thread
  /// cache too. Expects: the lock is held.
  void set_left(bool has_left) noexcept { has_left_.store(has_left, memory_order_relaxed); }
  /// Returns: whether a call of another thread includes the thread cache. Expects: the lock is held; else it is a hint.
  [[nodiscard]] cached for_others() const noexcept {
    return has_left_.load(memory_order_relaxed) ? cached::included : cached::excluded;
  }

  [[nodiscard]] constexpr spin_lock& lock() noexcept { return lock_; }
  /// Effects: holds the lock over a fork.
  void before_fork() noexcept { lock_.lock(); }
  void after_fork() noexcept { owner_.forget(), lock_.unlock(); }

  /// Returns: whether parcels wait. Thread safety: any thread.
  [[nodiscard]] ASHLAR_INLINE bool has_arrivals() const noexcept { return !arrivals_.is_empty(); }

  /// Returns: bytes of the parcels that wait, approximately. Thread safety: any thread.
  [[nodiscard]] std::size_t arrived_bytes() const noexcept { return arrivals_.bytes(); }

  /// Effects: adds a parcel of `bytes` bytes to the inbox, or unpacks it at once if too much waits there already and
  /// the lock is free: more than a heap may retain, for all heaps over a common budget together but for the first MiB
  /// of each. Thread safety: any thread.
  template <class Stores>
  void receive(Stores& stores, parcel_carrier<>* top, std::size_t bytes) noexcept {
    if (in_transit_.admits(bytes, arrivals_.bytes(), stores.upstream()) || !try_enter())
      return arrivals_.push(top, bytes);
    const auto in = adopt_lock();
    give_parcel(stores, top);
  }

  /// Effects: adds a block of `bytes` bytes, not a huge one, to the inbox. Thread safety: any thread.
  ASHLAR_COLD void leave(void* p, std::size_t bytes) noexcept { arrivals_.push(parcel_carrier<>::of_one(p), bytes); }

  /// Effects: moves the cells of all parcels to their bitmaps. Returns: `stores`. Expects: the lock is held.
  template <class Stores>
  ASHLAR_INLINE Stores& drain_inbox(Stores& stores) noexcept {
    if (ASHLAR_UNLIKELY(has_arrivals())) drain_all(stores);
    return stores;
  }

  /// Effects: unpacks parcels until a cell of a class has come. Returns: the cell, or null. Thread safety: the owner.
  template <class Stores>
  [[nodiscard]] ASHLAR_NOINLINE void* take_arrived(Stores& stores, std::size_t size_class) noexcept {
    count_slow();
    for (unsigned left = most_parcels; left != 0 && stores.cache().is_empty(size_class); --left) {
      parcel_carrier<>* const top = take_parcel(stores);
      if (top == nullptr) return nullptr;
      unpack(stores, top);
    }
    void* const cell = stores.cache().pop(size_class);
    if (cell != nullptr && is_sampled(cell)) stores.cache().count_taken(size_class);
    return cell;
  }

  /// Effects: takes back what waits in a budget, as the heap ends.
  template <class Stores>
  void end(Stores& stores) noexcept {
    in_transit_.fall(stores.upstream());
  }

  /// Effects: each 4th slow call of the owner flushes its sender if that is quiet, without the lock. No effect at
  /// levels without parcels. A function in its place might be of a library that is closed.
  void set_sender(parcel_sender<Upstream>& sender) noexcept { sender_ = &sender; }

  ASHLAR_INLINE void count_slow() noexcept { static_cast<void>(count_slow(nullptr)); }
  /// Returns: `p`, so that a caller ends with a jump and needs no frame.
  ASHLAR_INLINE std::byte* count_slow(std::byte* p) noexcept {
    if constexpr (sends)
      if (ASHLAR_UNLIKELY(--until_slow_ == 0)) return tell_slow(p);
    return p;
  }

private:
  static constexpr unsigned slow_calls = 4;
  static constexpr unsigned most_parcels = 32;  // unpacked in one call

  [[nodiscard]] ASHLAR_INLINE_FOR_SPEED whole lock_marked() noexcept {
    const owner_mark::waiting mark(owner_);
    return whole(lock_);
  }

  ASHLAR_COLD std::byte* tell_slow(std::byte* p) noexcept {
    until_slow_ = slow_calls;
    if (sender_ != nullptr) sender_->flush_if_quiet();
    return p;
  }

  // Under the lock.
  template <class Stores>
  [[nodiscard]] parcel_carrier<>* next_parcel(Stores& stores) noexcept {
    parcel_carrier<>* const top = arrivals_.take([&](const void* cell) { stores.report_twice(cell); });
    if (ASHLAR_UNLIKELY(in_transit_.has_risen()) && arrivals_.bytes() == 0) in_transit_.fall(stores.upstream());
    return top;
  }

  template <class Stores>
  ASHLAR_COLD void drain_all(Stores& stores) noexcept {
    while (parcel_carrier<>* const top = next_parcel(stores)) give_parcel(stores, top);
  }

  template <class Stores>
  ASHLAR_COLD void give_parcel(Stores& stores, parcel_carrier<>* top) noexcept {
    std::size_t bytes = 0;
    for_each_of_parcel(top, [&](void* cell) { bytes += stores.give_block(cell); });
    stores.count_arrived(bytes, for_others());
  }

  // Without the lock, which guards the parcels but not the free lists.
  template <class Stores>
  [[nodiscard]] parcel_carrier<>* take_parcel(Stores& stores) noexcept {
    const auto in = lock_cold();
    return next_parcel(stores);
  }

  // Effects: pushes the cells of a parcel onto the free lists, as frees of the owner. Without the lock.
  template <class Stores>
  void unpack(Stores& stores, parcel_carrier<>* top) noexcept {
    for_each_of_parcel(top, [&](void* cell) {
      const std::size_t size_class = Stores::segment::size_class_of(cell);
      if (ASHLAR_UNLIKELY(is_sampled(cell))) return unpack_sampled(stores, cell, size_class);
      stores.cache().push(size_class, cell);
    });
  }

  // A cell at a sampled address, or a span.
  template <class Stores>
  ASHLAR_COLD void unpack_sampled(Stores& stores, void* p, std::size_t size_class) noexcept {
    const bool is_cell = size_class != size_classes::none;
    if (is_cell) stores.cache().push(size_class, p), count_slow();
    const auto in = lock_cold();
    is_cell ? stores.count_freed(size_class) : stores.count_arrived(stores.give_block(p), for_others());
  }

  spin_lock lock_;
  owner_mark owner_;
  atomic<bool> has_left_ = false;  // written under the lock
  ASHLAR_NO_UNIQUE_ADDRESS null_lock none_;
  unsigned until_slow_ = slow_calls;
  parcel_sender<Upstream>* sender_ = nullptr;
  alignas(64) transit_limit<Upstream> in_transit_;  // read by senders: no line of what the owner writes
  parcel_queue<> arrivals_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
