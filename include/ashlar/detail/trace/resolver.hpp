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
  /// Where an address is, or where it would be put. Valid until the next change.
  struct position {
    std::size_t at = nowhere;
    std::uint32_t number = 0;  ///< 0: it is not here.
  };

  /// Effects: prefetches the home of `address`.
  void expect(std::uint64_t address) const noexcept {
    if (size_ != 0) ASHLAR_FETCH_TO_WRITE(&places_[hash(address) & mask()]);
  }

  /// Returns: the number at the home of `address`; 0 if there is none.
  [[nodiscard]] std::uint32_t at_home(std::uint64_t address) const noexcept {
    return size_ == 0 ? 0 : places_[hash(address) & mask()].number;
  }

  /// Returns: the position of `address`, whose number `is_of(number)` confirms.
  template <class IsOf>
  [[nodiscard]] ASHLAR_INLINE position find(std::uint64_t address, IsOf&& is_of) const noexcept {
    if (places_.size() == 0) return {};
    const std::uint32_t wanted = hash(address);
    std::size_t at = wanted & mask();
    for (std::size_t steps = 0; steps <= most_steps; ++steps, at = (at + 1) & mask()) {
      const place& p = places_[at];
      if (p.number == 0) return {at, 0};
      if (p.hash == wanted && is_of(p.number)) return {at, p.number};
    }
    return {};
  }

  /// Effects: puts `address` at its position. Calls `spill(number)` for each that has no place now. Expects: it is not
  /// here.
  template <class Spill>
  void insert(const position& p, std::uint64_t address, std::uint32_t number, Spill&& spill) {
    if ((size_ + 1) * 4 > places_.size() * 3) {
      grow(spill);
      if (!put({hash(address), number})) spill(number);
    } else if (p.at == nowhere) {
      spill(number);
    } else {
      places_[p.at] = {hash(address), number};
      ++size_;
    }
  }

  /// Effects: removes what is at `p`. Expects: it has a number.
  void erase(const position& p) noexcept {
    --size_;
    std::size_t hole = p.at;
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

  [[nodiscard]] bool put(const place& p) noexcept {
    std::size_t at = p.hash & mask();
    for (std::size_t steps = 0; places_[at].number != 0; ++steps, at = (at + 1) & mask())
      if (steps == most_steps) return false;
    places_[at] = p;
    ++size_;
    return true;
  }

  template <class Spill>
  void grow(Spill&& spill) {
    zero_array<place> old(places_.size() == 0 ? 512 : places_.size() * 2);
    old.swap(places_);
    size_ = 0;
    for (const place& p : old)
      if (p.number != 0 && !put(p)) spill(p.number);
  }

  zero_array<place> places_;
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
  /// Where an address is, or would be. Valid until the next change.
  struct position {
    address_index<true>::position in_near;
    address_index<false>::position in_far = {};

    /// Returns: whether an object is there.
    [[nodiscard]] bool is_taken() const noexcept { return (in_near.number | in_far.number) != 0; }
  };

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] ASHLAR_INLINE position find(std::uint64_t address) const noexcept {
    const auto is_of = [&](std::uint32_t number) { return slots_[number - 1].address == address; };
    position p{near_.find(address, is_of)};
    if (p.in_near.number == 0) p.in_far = far_.find(address, is_of);
    return p;
  }

  /// Effects: prefetches the place of `address` in the index; the slot, once that place is in a cache.
  void expect(std::uint64_t address) const noexcept { near_.expect(address); }
  void expect_slot(std::uint64_t address) const noexcept {
    if (const std::uint32_t number = near_.at_home(address); number != 0) ASHLAR_FETCH_TO_WRITE(&slots_[number - 1]);
  }

  /// Returns: the slot of a new object at `address`. Expects: it is free, `at` is its position; the object is not 0.
  std::uint32_t insert(const position& at, std::uint64_t address, std::uint64_t object, std::uint32_t thread) {
    const std::uint32_t slot = take_slot();
    slots_[slot].owner = object << thread_bits | (thread & thread_mask);
    put(at, address, slot);
    return slot;
  }

  /// Effects: the object of `slot`, which was taken out, is at `address` again, unless another one is.
  void restore(std::uint64_t address, std::uint32_t slot) {
    if (const position at = find(address); !at.is_taken()) put(at, address, slot);
  }

  /// Effects: removes the object at `at`, but for its slot. Returns: it, or one with id 0 if there is none.
  live_object take_out(const position& at) noexcept {
    if (!at.is_taken()) return {};
    if (at.in_near.number != 0) near_.erase(at.in_near);
    else far_.erase(at.in_far);
    --size_;
    const std::uint32_t slot = (at.in_near.number | at.in_far.number) - 1;
    const std::uint64_t owner = slots_[slot].owner;
    return {owner >> thread_bits, static_cast<std::uint32_t>(owner & thread_mask), slot};
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

  void put(const position& at, std::uint64_t address, std::uint32_t slot) {
    slots_[slot].address = address;
    near_.insert(at.in_near, address, slot + 1, [this](std::uint32_t number) { spill(number); });
    ++size_;
  }

  /// Effects: the far index has what has no place in the near one.
  ASHLAR_COLD void spill(std::uint32_t number) {
    const std::uint64_t address = slots_[number - 1].address;
    const auto nothing = [](std::uint32_t) { return false; };
    far_.insert(far_.find(address, nothing), address, number, nothing);
  }

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

  /// Returns: the position of the address of `r`; of none if it has none. Valid until the next `apply`.
  [[nodiscard]] ASHLAR_INLINE live_map::position find(const record& r) const noexcept {
    return has_address(r.code) && r.address != 0 ? live_.find(r.address) : live_map::position{};
  }

  /// Returns: whether `r` contradicts the live objects: its counterpart in another stream must come first. `at` is its
  /// position.
  [[nodiscard]] static bool contradicts(const record& r, const live_map::position& at) noexcept {
    return has_address(r.code) && r.address != 0 && at.is_taken() == is_acquisition(r.code);
  }

  /// Effects: prefetches what `apply(r)` looks up, first and then.
  void expect(const record& r) const noexcept { live_.expect(r.address); }
  void expect_soon(const record& r) const noexcept { live_.expect_slot(r.address); }

  /// Effects: `e` is a release of the object at `at`, made up because its address was handed out again.
  void release_lost(const live_map::position& at, std::uint64_t time_ns, trace::event& e) {
    const live_object lost = release(at);
    ++counts_.lost_releases;
    e = {.time_ns = time_ns,
         .thread = lost.thread,
         .op = trace::operation::free_,
         .object = lost.object,
         .slot = lost.slot};
    count();
  }

  /// Effects: applies `r`, whose position is `at`; `e` is its event. Expects: it does not allocate an address in use.
  /// Returns: whether this record completes an event.
  [[nodiscard]] ASHLAR_INLINE bool apply(const record& r, const live_map::position& at, std::uint64_t time_ns,
                                         stream_state& s, trace::event& e) {
    if (r.code == opcode::thread_switch) return s.thread = r.stack, false;
    if (r.code == opcode::realloc_begin) return begin_realloc(r, at, s), false;
    e = {.time_ns = time_ns,
         .thread = dense(s.thread),
         .op = operation_of(r.code),
         .size = r.size,
         .alignment = alignment_of(r.alignment_code),
         .stack = r.stack};
    if (is_release(e.op)) {
      const live_object released = release(at);
      e.object = released.object, e.slot = released.slot;
    }
    if (e.op == trace::operation::realloc_) end_realloc(r, s, e);
    if (is_acquisition(r.code) && r.address != 0) {
      e.object = ++last_object_;
      e.slot = live_.insert(at, r.address, e.object, e.thread);
    }
    count();
    return true;
  }

private:
  void count() noexcept {
    ++counts_.events;
    counts_.live = live_.size();
  }

  /// Returns: the object at `at`, whose slot is not free yet.
  live_object take_out(const live_map::position& at) noexcept {
    const live_object released = live_.take_out(at);
    if (released.object == 0) ++counts_.unknown_releases;
    return released;
  }

  live_object release(const live_map::position& at) noexcept {
    const live_object released = take_out(at);
    if (released.object != 0) live_.give_back(released.slot);
    return released;
  }

  void begin_realloc(const record& r, const live_map::position& at, stream_state& s) noexcept {
    s.old_address = r.address;
    s.old = take_out(at);
  }

  /// Effects: a failed realloc restores the old block. If its address has a new object, its slot stays taken.
  void end_realloc(const record& r, stream_state& s, trace::event& e) {
    const live_object old = std::exchange(s.old, {});
    e.old_object = old.object, e.old_slot = old.slot;
    if (old.object == 0) return;
    if (r.address != 0) live_.give_back(old.slot);
    else live_.restore(s.old_address, old.slot);
  }

  /// Returns: the dense number of a thread. The last one is cached: records of one thread come in runs.
  ASHLAR_INLINE std::uint32_t dense(std::uint32_t file_thread) {
    return file_thread == last_file_thread_ && !threads_.empty() ? last_thread_ : look_up(file_thread);
  }

  ASHLAR_NOINLINE std::uint32_t look_up(std::uint32_t file_thread) {
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
