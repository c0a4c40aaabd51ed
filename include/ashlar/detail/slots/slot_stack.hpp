// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The free list of a run of equal slots, LIFO, linked by numbers through the slots' words.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

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
