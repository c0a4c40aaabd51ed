// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The 32-bit word of a slot: a reference count while its object lives, a link while it is free; the guards and the free
// list of slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The meaning of a slot's word.
///
///     31     30     29 ... 0
///     free | raw  | number of the next free slot       the slot is free; raw: it holds no kept object
///     0    | 0    | references, at least 1             the slot is taken
///
/// A word lies beside its slot or in an array, never in the slot: a kept object stays unchanged, and a free does not
/// touch the cold lines of the slot.
namespace slot_word {
inline constexpr std::uint32_t free_mark = std::uint32_t{1} << 31;
inline constexpr std::uint32_t raw_mark = std::uint32_t{1} << 30;
inline constexpr std::uint32_t number_mask = raw_mark - 1;
inline constexpr std::uint32_t none = number_mask;        ///< no slot has this number
inline constexpr std::uint32_t closed = number_mask - 1;  ///< nor this
static_assert(most_slots == closed);
inline constexpr std::uint32_t max_count = raw_mark - 1;  ///< leaves room for threads that count concurrently

[[nodiscard]] constexpr bool is_free(std::uint32_t word) noexcept { return (word & free_mark) != 0; }
[[nodiscard]] constexpr bool is_raw(std::uint32_t word) noexcept { return (word & raw_mark) != 0; }
/// Returns: whether the slot is free and holds no object.
[[nodiscard]] constexpr bool is_dead(std::uint32_t word) noexcept { return is_free(word) && is_raw(word); }
[[nodiscard]] constexpr std::uint32_t number(std::uint32_t word) noexcept { return word & number_mask; }

[[noreturn]] ASHLAR_COLD inline void count_overflow() noexcept {
  ASHLAR_REQUIRE(false, "counted more than 2^30 - 1 references to one object");
  ASHLAR_ASSUME(false);
}
}  // namespace slot_word

/// The word for one thread at a time.
class plain_slot_word {
public:
  [[nodiscard]] ASHLAR_INLINE std::uint32_t load() const noexcept { return value_; }
  ASHLAR_INLINE void store(std::uint32_t value) noexcept { value_ = value; }
  /// Returns: the former value.
  [[nodiscard]] std::uint32_t exchange(std::uint32_t value) noexcept { return std::exchange(value_, value); }

  /// Effects: counts one more reference. Expects: there is at least one already.
  ASHLAR_INLINE void retain() noexcept {
    if (ASHLAR_UNLIKELY(++value_ > slot_word::max_count)) slot_word::count_overflow();
  }

  /// Effects: counts one less. Returns: whether that was the last.
  [[nodiscard]] ASHLAR_INLINE bool release() noexcept { return --value_ == 0; }

private:
  std::uint32_t value_;
};

/// The word for any thread.
template <class Atomics = default_atomics>
class shared_slot_word {
public:
  [[nodiscard]] ASHLAR_INLINE std::uint32_t load() const noexcept { return value_.load(memory_order_relaxed); }
  ASHLAR_INLINE void store(std::uint32_t value) noexcept { value_.store(value, memory_order_relaxed); }
  /// Returns: the former value. Relaxed: it only decides which of two concurrent frees came first.
  [[nodiscard]] std::uint32_t exchange(std::uint32_t value) noexcept {
    return value_.exchange(value, memory_order_relaxed);
  }

  /// Relaxed: the caller has a reference, through which it has seen all necessary writes.
  ASHLAR_INLINE void retain() noexcept {
    if (ASHLAR_UNLIKELY(value_.fetch_add(1, memory_order_relaxed) >= slot_word::max_count)) slot_word::count_overflow();
  }

  /// Pairs with itself: the last holder sees all writes of the others to the object.
  [[nodiscard]] ASHLAR_INLINE bool release() noexcept { return value_.fetch_sub(1, memory_order_acq_rel) == 1; }

private:
  typename Atomics::template atomic<std::uint32_t> value_;
};

inline constexpr const char* inside_an_object = "released a pointer into the middle of an object";
inline constexpr const char* freed_before = "released an object that is free";

[[noreturn]] ASHLAR_COLD inline void report_slot(fault kind, const char* what, const void* p, const void* pool,
                                                 std::size_t slot_bytes) noexcept {
  report({.kind = kind, .what = what, .pointer = p, .resource = pool, .size = slot_bytes});
}

/// Effects: reports a pointer that is not a slot of `pool`. The pointer is not read, so it may be any address.
[[noreturn]] ASHLAR_COLD inline void report_foreign_slot(const void* p, const void* pool,
                                                         std::size_t slot_bytes) noexcept {
  const cell_place place = process_slabs.find(p);
  if (place.owner == nullptr)
    report_slot(fault::invalid_free, "released a pointer that is not of this pool", p, pool, slot_bytes);
  report({.kind = fault::wrong_pool,
          .what = "released an object of another pool",
          .pointer = p,
          .resource = pool,
          .owner = place.owner,
          .size = place.cell_bytes});
}

/// The guards of slots for objects of `Bytes` bytes, as the guards of cells in `checks/poison.hpp`:
///
///     | front guard | object 0 | guard | object 1 | guard | ...          at `hardened`
///     | object 0 | object 1 | ...                                       below
///
/// A slot's guard is written when the slot is first handed out, and the front guard with the first slot. Slots are
/// first handed out in order of addresses, so both neighbours of a live object are guards. Guards stay as long as the
/// memory, whether objects are destroyed or kept. Calls expect `keeps_canaries`: without it there are no guards to
/// verify. Thread safety: `begin` one thread at a time; `expect` any thread to which the slot was handed out.
template <std::size_t Bytes, std::size_t Alignment>
struct slot_guard {
  static constexpr std::size_t stride = align_up(Bytes + least_guard, Alignment);     ///< from slot to slot
  static constexpr std::size_t bytes = has_guards ? stride - Bytes : std::size_t{0};  ///< after each object

  /// Effects: writes the guard of a slot that is handed out for the first time.
  static void begin(void* slot, bool is_first) noexcept {
    auto* const object = static_cast<std::byte*>(slot);
    if (is_first) fill_guard(object - front_guard, front_guard);
    fill_guard(object + Bytes, bytes);
  }

  /// Effects: reports writes after the object in a slot and in front of it; `pool` may be null. In front, only the
  /// last byte of the guard is verified: earlier ones are the overflow of the previous slot. Expects: the slot was
  /// handed out.
  static ASHLAR_INLINE void expect(const void* slot, const void* pool) noexcept {
    const auto* const object = static_cast<const std::byte*>(slot);
    if (ASHLAR_UNLIKELY(!is_canary_before(object))) report_write_before(object, Bytes, pool);
    if (ASHLAR_UNLIKELY(!is_guard_intact(object + Bytes, bytes)))
      report_overflow_into_guard(object, Bytes, bytes, Bytes, pool);
  }

  /// As `expect`, for the first `count` slots, free ones too. Complexity: O(count).
  static void expect_all(const void* first_slot, std::uint32_t count, const void* pool) noexcept {
    for (std::size_t at = 0; at < count; ++at) expect(static_cast<const std::byte*>(first_slot) + at * stride, pool);
  }
};

/// Effects: marks a slot as in use for memory tools; `is_raw`: without a kept object. `IsShared`: other threads may
/// mark its neighbours.
template <bool IsShared>
ASHLAR_INLINE void mark_slot(void* slot, std::size_t bytes, [[maybe_unused]] bool is_raw) noexcept {
  if constexpr (IsShared && always_marked) return mark_live_among_others(slot, bytes);
  if (is_raw) mark_live(slot, bytes);
  else mark_readable(slot, bytes);
}

/// Effects: marks a slot as free for memory tools.
template <bool IsShared>
ASHLAR_INLINE void mark_slot_free(void* slot, std::size_t bytes) noexcept {
  if constexpr (IsShared) mark_free_among_others(slot, bytes);
  else mark_free(slot, bytes);
}

/// Effects: ends the life of a slot with a destroyed object: fills it with poison at `hardened`, and marks it as free
/// for tools. A slot holds no link, so all its bytes are poison.
template <bool IsShared>
ASHLAR_INLINE void poison_slot(void* slot, std::size_t bytes) noexcept {
  if constexpr (keeps_canaries) poison_block(slot, bytes);
  mark_slot_free<IsShared>(slot, bytes);
}

/// As `poison_slot` for a slot with raw `marks`; a kept object stays unchanged.
template <bool IsShared>
ASHLAR_INLINE void retire_slot(void* slot, std::size_t bytes, std::uint32_t marks) noexcept {
  if (keeps_canaries && slot_word::is_raw(marks)) poison_block(slot, bytes);
  mark_slot_free<IsShared>(slot, bytes);
}

/// Effects: reports a write to a dead raw slot of `pool`. Expects: the slot was used before; an unused slot holds no
/// poison.
ASHLAR_INLINE void verify_slot([[maybe_unused]] const void* slot, [[maybe_unused]] std::size_t bytes,
                               [[maybe_unused]] const void* pool) noexcept {
  if constexpr (keeps_canaries) verify_poison(slot, bytes, bytes, pool);
}

/// A taken slot.
struct taken_slot {
  std::uint32_t number = slot_word::none;
  bool is_raw = true;  ///< whether it holds no kept object
};

/// The same by address.
struct taken_place {
  void* slot = nullptr;  ///< null if there is none
  bool is_raw = true;
};

/// Slots are numbered from 0. Those from `used` on were never taken, and their words are unwritten, so that a large run
/// costs nothing before its use. `words(number)` is the word of a slot; the owner passes the same function to every
/// call. All operations are O(1) unless stated otherwise.
///
/// A pool that rarely needs the set of taken slots calls `pop_unmarked`, which saves a store (a fifth of the time of a
/// take and a give): the word of a reused slot keeps its free mark until `mark_taken`. The word of a slot on the stack
/// always has the mark. Thread safety: none.
class slot_stack {
public:
  [[nodiscard]] ASHLAR_INLINE constexpr bool empty() const noexcept { return top_ == slot_word::none; }
  /// Returns: the number of slots ever taken: the lowest ones.
  [[nodiscard]] constexpr std::uint32_t used() const noexcept { return used_; }

  /// Returns: the slot given last, else one never taken, now with a count of 1; none when all `capacity` are taken.
  template <class Words>
  [[nodiscard]] ASHLAR_INLINE taken_slot take(std::uint32_t capacity, Words words) noexcept {
    if (ASHLAR_LIKELY(!empty())) return pop(words);
    return take_unused(capacity, words);
  }

  /// Returns: the slot given last, now with a count of 1. Expects: `!empty()`.
  template <class Words>
  [[nodiscard]] ASHLAR_INLINE taken_slot pop(Words words) noexcept {
    const taken_slot taken = pop_unmarked(words);
    words(taken.number).store(1);
    return taken;
  }

  /// Returns: as `pop`; the word of the slot stays unchanged.
  template <class Words>
  [[nodiscard]] ASHLAR_INLINE taken_slot pop_unmarked(Words words) noexcept {
    const std::uint32_t number = top_;
    const std::uint32_t was = words(number).load();
    top_ = slot_word::number(was);
    return {number, slot_word::is_raw(was)};
  }

  /// Returns: a slot never taken before, now with a count of 1; none if there is none below `capacity`.
  template <class Words>
  [[nodiscard]] ASHLAR_INLINE taken_slot take_unused(std::uint32_t capacity, Words words) noexcept {
    if (ASHLAR_UNLIKELY(used_ == capacity)) return {};
    words(used_).store(1);
    return {used_++, true};
  }

  /// Effects: takes a slot back; `marks` is `raw_mark` without a kept object in it, else 0. Expects: it is taken.
  template <class Words>
  ASHLAR_INLINE void give(std::uint32_t number, std::uint32_t marks, Words words) noexcept {
    words(number).store(slot_word::free_mark | marks | top_);
    top_ = number;
  }

  /// Effects: takes over a chain of free slots that ends in `none`. Expects: `empty()`.
  ASHLAR_INLINE void adopt(std::uint32_t first) noexcept { top_ = first; }

  /// Effects: makes the words of all slots show whether they are taken. Expects: all free slots are raw. Complexity:
  /// O(used).
  template <class Words>
  void mark_taken(Words words) const noexcept {
    for (std::uint32_t number = 0; number < used_; ++number) words(number).store(words(number).load() & ~raw_mark);
    for_each_free(words, [&](std::uint32_t number) { words(number).store(words(number).load() | raw_mark); });
    for (std::uint32_t number = 0; number < used_; ++number)
      if (!slot_word::is_raw(words(number).load())) words(number).store(1);
  }

  /// Effects: calls `f(number)` for every slot with a word that marks it as taken, the lowest first. Complexity:
  /// O(used).
  template <class Words, class F>
  void for_each_taken(Words words, F f) const {
    for (std::uint32_t number = 0; number < used_; ++number)
      if (!slot_word::is_free(words(number).load())) f(number);
  }

  /// Effects: calls `f(number)` for every slot on the stack, the top first. Complexity: O(free).
  template <class Words, class F>
  void for_each_free(Words words, F f) const {
    for (std::uint32_t at = top_; at != slot_word::none; at = slot_word::number(words(at).load())) f(at);
  }

  /// Returns: whether the stack ends, every slot on it was used and is marked as free, and no other slot is marked so,
  /// unless `has_unmarked`. Complexity: O(used).
  template <class Words>
  [[nodiscard]] bool invariant(std::uint32_t capacity, Words words, bool has_unmarked = false) const noexcept {
    std::uint32_t free = 0;
    for (std::uint32_t number = 0; number < used_; ++number)
      if (slot_word::is_free(words(number).load())) ++free;
    std::uint32_t linked = 0;
    for (std::uint32_t at = top_; at != slot_word::none; at = slot_word::number(words(at).load()))
      if (at >= used_ || !slot_word::is_free(words(at).load()) || ++linked > free) return false;
    return (linked == free || has_unmarked) && used_ <= capacity;
  }

private:
  static constexpr std::uint32_t raw_mark = slot_word::raw_mark;

  std::uint32_t top_ = slot_word::none;
  std::uint32_t used_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
