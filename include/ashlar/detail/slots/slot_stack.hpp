// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The free slots of a run of equal slots, the latest on top, linked by number through the slots' words.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// A slot that was taken.
struct taken_slot {
  std::uint32_t number = slot_word::none;
  bool is_raw = true;  ///< whether it holds no object that was kept
};

/// The same by address.
struct taken_place {
  void* slot = nullptr;  ///< null where there is none
  bool is_raw = true;
};

/// Slots are numbered from 0. Those from `used` on were never taken and their words never written, so that a large run
/// costs nothing before it is used. `words(number)` gives the word of a slot; the owner passes the same to every call.
/// All operations are O(1) where nothing else is said.
///
/// A pool whose words need not say at all times which slots are taken calls `pop_unmarked`, which spares a store (a
/// fifth of the time of a take and a give): the word of a slot that was taken again still says "free", until
/// `mark_taken`. The word of a slot on the stack always says so.
/// Thread safety: none.
class slot_stack {
public:
  [[nodiscard]] ASHLAR_INLINE constexpr bool empty() const noexcept { return top_ == slot_word::none; }
  /// Returns: how many slots were ever taken: the lowest ones.
  [[nodiscard]] constexpr std::uint32_t used() const noexcept { return used_; }

  /// Returns: the slot given last, else one never taken, now with a count of 1; none where all `capacity` are taken.
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

  /// Returns: as `pop`, and the word of the slot stays as it was.
  template <class Words>
  [[nodiscard]] ASHLAR_INLINE taken_slot pop_unmarked(Words words) noexcept {
    const std::uint32_t number = top_;
    const std::uint32_t was = words(number).load();
    top_ = slot_word::number(was);
    return {number, slot_word::is_raw(was)};
  }

  /// Returns: a slot never taken before, now with a count of 1; none where there is none below `capacity`.
  template <class Words>
  [[nodiscard]] ASHLAR_INLINE taken_slot take_unused(std::uint32_t capacity, Words words) noexcept {
    if (ASHLAR_UNLIKELY(used_ == capacity)) return {};
    words(used_).store(1);
    return {used_++, true};
  }

  /// Effects: takes a slot back; `marks` is `raw_mark` where no object is kept in it, else 0. Expects: it is taken.
  template <class Words>
  ASHLAR_INLINE void give(std::uint32_t number, std::uint32_t marks, Words words) noexcept {
    words(number).store(slot_word::free_mark | marks | top_);
    top_ = number;
  }

  /// Effects: takes a chain of free slots, that ends in `none`, in place of its own. Expects: `empty()`.
  ASHLAR_INLINE void adopt(std::uint32_t first) noexcept { top_ = first; }

  /// Effects: makes the words of all slots say whether they are taken. Expects: all free slots are raw.
  /// Complexity: O(used).
  template <class Words>
  void mark_taken(Words words) const noexcept {
    for (std::uint32_t number = 0; number < used_; ++number) words(number).store(words(number).load() & ~raw_mark);
    for_each_free(words, [&](std::uint32_t number) { words(number).store(words(number).load() | raw_mark); });
    for (std::uint32_t number = 0; number < used_; ++number)
      if (!slot_word::is_raw(words(number).load())) words(number).store(1);
  }

  /// Effects: calls `f(number)` for every slot whose word says that it is taken, the lowest first. Complexity: O(used).
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

  /// Returns: whether the stack ends, and its slots were used and say that they are free; and whether no others do,
  /// unless `has_unmarked` slots. Complexity: O(used).
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

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
