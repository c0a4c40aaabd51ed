// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns records in order of time into events: addresses become object ids, thread numbers become dense.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/detail/support/block_table.hpp>
#include <ashlar/detail/trace/record.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

/// The reader's record of a live object.
struct live_object {
  std::uint64_t object = 0;  ///< 0 = none.
  std::uint32_t thread = 0;  ///< The thread that allocated it.
  std::uint32_t slot = 0;    ///< No other object has it until `give_back(slot)`.
};

/// Numbers from 1, of slots, by hashes of addresses: open addressing with linear probing, at most 3/4 full; erasing
/// moves followers up, so there are no tombstones. In one that is near, neighbours in memory are neighbours, and an
/// address that has no place within `most_steps` of its home has none. Complexity: O(1) expected; memory 8 bytes a
/// place.
template <bool IsNear>
class address_index {
public:
  /// Effects: prefetches the home of `address`.
  void expect(std::uint64_t address) const noexcept {
    if (size_ != 0) ASHLAR_FETCH_TO_WRITE(&places_[hash(address) & mask()]);
  }

  /// Returns: the number at the home of `address`; 0 if there is none.
  [[nodiscard]] std::uint32_t at_home(std::uint64_t address) const noexcept {
    return size_ == 0 ? 0 : places_[hash(address) & mask()].number;
  }

  /// Returns: the number of `address`, which `is_of(number)` confirms; 0 if there is none.
  template <class IsOf>
  [[nodiscard]] std::uint32_t find(std::uint64_t address, IsOf&& is_of) const noexcept {
    const std::size_t at = place_of(address, is_of);
    return at == nowhere ? 0 : places_[at].number;
  }

  /// Effects: removes `address`. Returns: as `find`.
  template <class IsOf>
  std::uint32_t take_out(std::uint64_t address, IsOf&& is_of) noexcept {
    const std::size_t at = place_of(address, is_of);
    if (at == nowhere) return 0;
    const std::uint32_t number = places_[at].number;
    erase(at);
    return number;
  }

  /// Effects: calls `spill(number)` for each that has no place now. Expects: `address` is not here.
  template <class Spill>
  void insert(std::uint64_t address, std::uint32_t number, Spill&& spill) {
    if ((size_ + 1) * 4 > places_.size() * 3) grow(spill);
    if (!put({hash(address), number})) spill(number);
  }

private:
  static constexpr std::size_t nowhere = ~std::size_t{0};
  static constexpr std::size_t most_steps = IsNear ? 32 : nowhere;

  struct place {
    std::uint32_t hash = 0;
    std::uint32_t number = 0;  ///< 0: empty.
  };

  [[nodiscard]] std::size_t mask() const noexcept { return places_.size() - 1; }

  /// Near ones are in units of 16 bytes, with a shift at each page and MiB: blocks of whole pages have different homes.
  [[nodiscard]] static std::uint32_t hash(std::uint64_t address) noexcept {
    if constexpr (IsNear) return static_cast<std::uint32_t>((address >> 4) + (address >> 12) + (address >> 20));
    else return static_cast<std::uint32_t>((address * 0x9E3779B97F4A7C15) >> 32);
  }

  template <class IsOf>
  [[nodiscard]] std::size_t place_of(std::uint64_t address, IsOf&& is_of) const noexcept {
    if (size_ == 0) return nowhere;
    const std::uint32_t wanted = hash(address);
    std::size_t at = wanted & mask();
    for (std::size_t steps = 0; steps <= most_steps && places_[at].number != 0; ++steps, at = (at + 1) & mask())
      if (places_[at].hash == wanted && is_of(places_[at].number)) return at;
    return nowhere;
  }

  [[nodiscard]] bool put(const place& p) noexcept {
    std::size_t at = p.hash & mask();
    for (std::size_t steps = 0; places_[at].number != 0; ++steps, at = (at + 1) & mask())
      if (steps == most_steps) return false;
    places_[at] = p;
    ++size_;
    return true;
  }

  void erase(std::size_t hole) noexcept {
    --size_;
    for (std::size_t at = hole;;) {
      places_[hole].number = 0;
      do {
        at = (at + 1) & mask();
        if (places_[at].number == 0 || ((at - hole) & mask()) > most_steps) return;
      } while (((at - places_[at].hash) & mask()) < ((at - hole) & mask()));  // its home is after the hole
      places_[hole] = places_[at];
      hole = at;
    }
  }

  template <class Spill>
  void grow(Spill&& spill) {
    std::vector<place> old(places_.empty() ? 64 : places_.size() * 2);
    old.swap(places_);
    size_ = 0;
    for (const place& p : old)
      if (p.number != 0 && !put(p)) spill(p.number);
  }

  std::vector<place> places_;
  std::size_t size_ = 0;
};

/// The live objects by address: the only memory of the reader that grows with the traced program. It has two indexes
/// over the slots of the objects: programs use neighbouring blocks one after the other, so that most are found in cache
/// lines and pages of the near one that are in use, however large it is; the far one has those without a place there.
/// The slot given back last is taken first, so that objects of one time are neighbours. Complexity: O(1) expected;
/// memory O(most objects live at once), 16 bytes a slot: an object's id has 40 bits, which a trace of 100 GB does not
/// exhaust, and a thread 24, the lowest of its number.
class live_map {
public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] bool contains(std::uint64_t address) const noexcept {
    const auto is_of = occupant{slots_, address};
    return near_.find(address, is_of) != 0 || far_.find(address, is_of) != 0;
  }

  /// Effects: prefetches the place of `address` in the index; the slot, once that place is in a cache.
  void expect(std::uint64_t address) const noexcept { near_.expect(address); }
  void expect_slot(std::uint64_t address) const noexcept {
    if (const std::uint32_t number = near_.at_home(address); number != 0) ASHLAR_FETCH_TO_WRITE(&slots_[number - 1]);
  }

  /// Returns: the slot of a new object at `address`. Expects: `address` is free; the object is not 0.
  std::uint32_t insert(std::uint64_t address, std::uint64_t object, std::uint32_t thread) {
    const std::uint32_t slot = take_slot();
    slots_[slot].owner = object << thread_bits | (thread & thread_mask);
    restore(address, slot);
    return slot;
  }

  /// Effects: the object of `slot`, which was taken out, is at `address` again. Expects: `address` is free.
  void restore(std::uint64_t address, std::uint32_t slot) {
    slots_[slot].address = address;
    near_.insert(address, slot + 1, [this](std::uint32_t number) {
      far_.insert(slots_[number - 1].address, number, [](std::uint32_t) {});
    });
    ++size_;
  }

  /// Effects: removes the object at `address`, but for its slot. Returns: it, or one with id 0 if there is none.
  live_object take_out(std::uint64_t address) noexcept {
    const auto is_of = occupant{slots_, address};
    std::uint32_t number = near_.take_out(address, is_of);
    if (number == 0) number = far_.take_out(address, is_of);
    if (number == 0) return {};
    --size_;
    const std::uint64_t owner = slots_[number - 1].owner;
    return {owner >> thread_bits, static_cast<std::uint32_t>(owner & thread_mask), number - 1};
  }

  /// Effects: the slot of an object that was taken out is free.
  void give_back(std::uint32_t slot) noexcept { slots_[slot].address = std::exchange(free_, slot); }

private:
  static constexpr unsigned thread_bits = 24;
  static constexpr std::uint64_t thread_mask = (std::uint64_t{1} << thread_bits) - 1;
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct slot_of_object {
    std::uint64_t address = 0;  ///< Of a free slot: the next free one, or `none`.
    std::uint64_t owner = 0;    ///< The object above the thread.
  };

  /// Confirms the number of an address.
  struct occupant {
    const block_table<slot_of_object>& table;
    std::uint64_t address;
    [[nodiscard]] bool operator()(std::uint32_t number) const noexcept { return table[number - 1].address == address; }
  };

  std::uint32_t take_slot() {
    if (free_ != none) return std::exchange(free_, static_cast<std::uint32_t>(slots_[free_].address));
    slots_.reach(used_);
    return used_++;
  }

  address_index<true> near_;
  address_index<false> far_;
  block_table<slot_of_object> slots_;
  std::uint32_t free_ = none;  // a list, the slot given back last first
  std::uint32_t used_ = 0;     // slots that an object has had
  std::size_t size_ = 0;
};

/// The state of a stream between two records.
struct stream_state {
  std::uint32_t thread = 0;       ///< By the numbering of the file.
  std::uint64_t old_address = 0;  ///< Of the realloc in progress.
  live_object old = {};           ///<
};

/// Irregularities that are not damage; users see them as `trace::reader_counts`.
struct reader_counts {
  std::uint64_t events = 0;         ///< Events returned so far.
  std::uint64_t live = 0;           ///< Objects live now.
  std::uint64_t lost_releases = 0;  ///< An address was handed out again although its release was never seen; the reader
                                    ///< made up the missing `free_` event just before.
  std::uint64_t unknown_releases = 0;  ///< Frees of objects allocated before, or past, the recording: `object` 0.
};

class resolver {
public:
  [[nodiscard]] const reader_counts& counts() const noexcept { return counts_; }

  /// Returns: whether `r` contradicts the live objects: its counterpart in another stream must come first.
  [[nodiscard]] bool contradicts(const record& r) const noexcept {
    if (!has_address(r.code) || r.address == 0) return false;
    return live_.contains(r.address) == is_acquisition(r.code);
  }

  /// Effects: prefetches what `apply(r)` looks up, first and then.
  void expect(const record& r) const noexcept { live_.expect(r.address); }
  void expect_soon(const record& r) const noexcept { live_.expect_slot(r.address); }

  /// Effects: `e` is a release of the object at `address`, made up because the address was handed out again.
  void release_lost(std::uint64_t address, std::uint64_t time_ns, trace::event& e) {
    const live_object lost = release(address);
    ++counts_.lost_releases;
    e = {.time_ns = time_ns,
         .thread = lost.thread,
         .op = trace::operation::free_,
         .object = lost.object,
         .slot = lost.slot};
    count();
  }

  /// Effects: applies `r`; `e` is its event. Expects: it does not allocate an address in use. Returns: whether this
  /// record completes an event.
  [[nodiscard]] bool apply(const record& r, std::uint64_t time_ns, stream_state& s, trace::event& e) {
    if (r.code == opcode::thread_switch) return s.thread = r.stack, false;
    if (r.code == opcode::realloc_begin) return begin_realloc(r, s), false;
    e = {.time_ns = time_ns,
         .thread = dense(s.thread),
         .op = operation_of(r.code),
         .size = r.size,
         .alignment = alignment_of(r.alignment_code),
         .stack = r.stack};
    if (is_release(e.op)) {
      const live_object released = release(r.address);
      e.object = released.object, e.slot = released.slot;
    }
    if (e.op == trace::operation::realloc_) end_realloc(r, s, e);
    if (is_acquisition(r.code) && r.address != 0) {
      e.object = ++last_object_;
      e.slot = live_.insert(r.address, e.object, e.thread);
    }
    count();
    return true;
  }

private:
  void count() noexcept {
    ++counts_.events;
    counts_.live = live_.size();
  }

  /// Returns: the object at `address`, whose slot is not free yet.
  live_object take_out(std::uint64_t address) noexcept {
    const live_object released = address == 0 ? live_object{} : live_.take_out(address);
    if (released.object == 0) ++counts_.unknown_releases;
    return released;
  }

  live_object release(std::uint64_t address) noexcept {
    const live_object released = take_out(address);
    if (released.object != 0) live_.give_back(released.slot);
    return released;
  }

  void begin_realloc(const record& r, stream_state& s) noexcept {
    s.old_address = r.address;
    s.old = take_out(r.address);
  }

  /// Effects: a failed realloc restores the old block. If its address has a new object, its slot stays taken.
  void end_realloc(const record& r, stream_state& s, trace::event& e) {
    const live_object old = std::exchange(s.old, {});
    e.old_object = old.object, e.old_slot = old.slot;
    if (old.object == 0) return;
    if (r.address != 0) live_.give_back(old.slot);
    else if (!live_.contains(s.old_address)) live_.restore(s.old_address, old.slot);
  }

  /// Returns: the dense number of a thread. The last one is cached: records of one thread come in runs.
  std::uint32_t dense(std::uint32_t file_thread) {
    if (file_thread == last_file_thread_ && !threads_.empty()) return last_thread_;
    const auto next = static_cast<std::uint32_t>(threads_.size());
    last_file_thread_ = file_thread;
    return last_thread_ = threads_.try_emplace(file_thread, next).first->second;
  }

  live_map live_;
  std::unordered_map<std::uint32_t, std::uint32_t> threads_;
  std::uint32_t last_file_thread_ = 0;
  std::uint32_t last_thread_ = 0;
  std::uint64_t last_object_ = 0;
  reader_counts counts_;
};

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
