// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table of a trace under construction: each distinct item gets an id by its hash, and is written once.
#pragma once

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/trace/format.hpp>
#include <ashlar/detail/trace/varint.hpp>

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
    if (items_ >= max_items) return 0;
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
    items_ = pending_count_ = sequence_ = 0;
    pending_used_ = 0;
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

  // Expects: the lock is held. A payload starts with the id of its first item.
  template <class Put>
  std::uint32_t append(std::size_t bound, Put put) noexcept {
    if (pending_used_ + detail::trace_io::max_varint_bytes + bound > PendingBytes) write_pending();
    std::byte* to = pending_ + pending_used_;
    if (pending_count_ == 0) to = detail::trace_io::put_varint(to, std::uint64_t{items_} + 1);
    pending_used_ = static_cast<std::size_t>(put(to) - pending_);
    ++pending_count_;
    return ++items_;
  }

  // Expects: the lock is held.
  bool write_pending() noexcept {
    if (pending_count_ == 0) return true;
    const bool written =
        write_chunk({.kind = Kind, .sequence = sequence_++, .count = pending_count_}, {pending_, pending_used_});
    pending_count_ = 0;
    pending_used_ = 0;
    return written;
  }

  slot slots_[Slots] = {};
  std::byte pending_[PendingBytes] = {};
  sleeping_lock lock_;
  std::uint32_t items_ = 0;          // ids given
  std::uint32_t pending_count_ = 0;  // of them outside of the file
  std::size_t pending_used_ = 0;
  std::uint32_t sequence_ = 0;
};

}  // namespace ashlar::recorder
