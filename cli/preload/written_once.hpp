// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table of a trace under construction: each distinct item gets an id by its hash, and is written once.
#pragma once

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/trace/format.hpp>
#include <ashlar/detail/trace/varint.hpp>

#include "cli/preload/live.hpp"
#include "cli/preload/sleeping_lock.hpp"
#include "cli/preload/trace_file.hpp"

namespace ashlar::recorder {

/// Items are found without a lock, and added under one. 64 bits of hash stand for an item: among a million the chance
/// that two are mistaken for one is 1 in 10^7. All zeros is an empty table. Ids count from 1 without gaps, as in the
/// file.
template <detail::trace_io::chunk_kind Kind, std::size_t Slots, std::size_t PendingBytes>
class written_once {
public:
  /// Returns: the id of the item with this hash, 0 if it is new. Expects: `hash` is not 0.
  [[nodiscard]] std::uint32_t find(std::uint64_t hash) noexcept {
    const slot& s = find_slot(hash);
    return s.hash.load(std::memory_order_acquire) == hash ? s.id.load(std::memory_order_relaxed) : 0;
  }

  /// Effects: unless it is there, adds the item with this hash: `put(to)` writes at most `bound` bytes, and returns
  /// their end. Returns: its id; 0 if the table is full. Expects: `hash` is not 0; the thread is inside the recorder.
  template <class Put>
  std::uint32_t add(std::uint64_t hash, std::size_t bound, Put put) noexcept {
    const ashlar::lock_scope hold(lock_);
    slot& s = find_slot(hash);
    if (s.hash.load(std::memory_order_relaxed) == hash) return s.id.load(std::memory_order_relaxed);
    if (items_ >= max_items || !may_write()) return 0;
    s.id.store(append(bound, put), std::memory_order_relaxed);
    s.hash.store(hash, std::memory_order_release);  // pairs with the load in find(): a reader of the hash reads the id
    return s.id.load(std::memory_order_relaxed);
  }

  /// Returns: the greatest id so far.
  [[nodiscard]] std::uint32_t last_id() noexcept {
    const ashlar::lock_scope hold(lock_);
    return items_;
  }

  /// Effects: writes the items that are not in the file yet. Returns: false if recording is over.
  bool write() noexcept {
    const ashlar::lock_scope hold(lock_);
    return write_pending();
  }

  /// Effects: in a forked child: forgets all items. A thread that the child lacks may have held the lock.
  void reset() noexcept {
    lock_.unlock();
    for (slot& s : slots_)
      if (s.hash.load(std::memory_order_relaxed) != 0) s.hash.store(0, std::memory_order_relaxed);
    items_ = 0;
    shared_ = nullptr;
    own_.extend_to(0, 0);
    own_.sequence = 0;
  }

  /// Effects: items that are not in the file yet lie in `shared` from now on, which is empty.
  void use(pending_items<PendingBytes>& shared) noexcept {
    const ashlar::lock_scope hold(lock_);
    std::memcpy(shared.bytes, own_.bytes, own_.used());
    shared.sequence = own_.sequence;
    shared.extend_to(own_.used(), own_.count());
    shared_ = &shared;
  }

private:
  static constexpr std::size_t max_items = Slots / 4 * 3;
  static constexpr std::size_t first_slots = Slots / 64;
  static constexpr std::size_t first_tries = 16;

  struct slot {
    std::atomic<std::uint64_t> hash = 0;  ///< 0 = empty.
    std::atomic<std::uint32_t> id = 0;    ///< Released after the item is pending, acquired by its finder.
  };

  /// Most programs have few items, which stand close together then: each page and cache line has many of them.
  slot& find_slot(std::uint64_t hash) noexcept {
    std::size_t at = hash;
    for (std::size_t tries = 0; tries < first_tries; ++tries, ++at) {
      slot& s = slots_[at % first_slots];
      const std::uint64_t there = s.hash.load(std::memory_order_relaxed);
      if (there == hash || there == 0) return s;
    }
    for (at = hash;; ++at) {
      slot& s = slots_[first_slots + at % (Slots - first_slots)];
      const std::uint64_t there = s.hash.load(std::memory_order_relaxed);
      if (there == hash || there == 0) return s;
    }
  }

  [[nodiscard]] pending_items<PendingBytes>& pending() noexcept { return shared_ != nullptr ? *shared_ : own_; }

  /// A child of whose fork the recorder did not learn lacks what is shared.
  [[nodiscard]] bool may_write() const noexcept { return shared_ == nullptr || getpid() == file.process(); }

  // Expects: the lock is held. A payload starts with the id of its first item.
  template <class Put>
  std::uint32_t append(std::size_t bound, Put put) noexcept {
    if (pending().used() + detail::trace_io::max_varint_bytes + bound > PendingBytes) write_pending();
    pending_items<PendingBytes>& all = pending();
    std::byte* to = all.bytes + all.used();
    if (all.count() == 0) to = detail::trace_io::put_varint(to, std::uint64_t{items_} + 1);
    all.extend_to(static_cast<std::size_t>(put(to) - all.bytes), all.count() + 1);
    return ++items_;
  }

  // Expects: the lock is held.
  bool write_pending() noexcept {
    pending_items<PendingBytes>& all = pending();
    if (all.count() == 0) return true;
    const bool written = write_chunk({.kind = Kind, .sequence = all.sequence, .count = all.count()}, all.payload());
    all.extend_to(0, 0);
    ++all.sequence;
    return written;
  }

  slot slots_[Slots] = {};
  pending_items<PendingBytes> own_ = {};
  pending_items<PendingBytes>* shared_ = nullptr;
  sleeping_lock lock_;
  std::uint32_t items_ = 0;  // ids given
};

}  // namespace ashlar::recorder
