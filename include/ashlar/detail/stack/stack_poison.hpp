// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Poison in the dead bytes next to the top of a stack, at level hardened.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/poison_range.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The dead bytes at the top of a stack that are known to hold poison: one range that starts, or ends, at the top.
///
///       | live blocks | poison ...      | unknown: never used, or one free was larger than the poisoned part |
///                     ^ top
///
/// `Place` distinguishes two members of one object. Complexity: O(bytes poisoned or verified). Thread safety: none.
template <int Place = 0, bool IsKept = keeps_canaries>
class stack_poison {
public:
  static constexpr std::size_t most_at_once = std::size_t{64} * 1024;  ///< bytes

  /// Effects: turns dead bytes into a block, a label or padding. Reports those that were written to. Expects: they lie
  /// at the top, or are taken from the other end.
  void take(std::byte* from, std::byte* to, const void* resource) noexcept {
    const poison_range taken = known_.within(from, to);
    taken.verify(known_.bytes(), resource);
    if (!taken.is_empty())
      known_ = taken.begin == known_.begin ? known_.within(to, known_.end) : known_.within(known_.begin, from);
  }

  /// Effects: poisons the bytes freed above `top`; of a large range, the part next to the top.
  void poison_above(std::byte* top, std::byte* end) noexcept {
    const poison_range freed = {top, end};
    if (freed.bytes() > most_at_once) return replace_by({top, top + most_at_once});
    replace_by(freed, {top, known_.begin == end && !known_.is_empty() ? known_.end : end});
  }

  /// The same below `top`, for a stack that grows downwards.
  void poison_below(std::byte* begin, std::byte* top) noexcept {
    const poison_range freed = {begin, top};
    if (freed.bytes() > most_at_once) return replace_by({top - most_at_once, top});
    replace_by(freed, {known_.end == begin && !known_.is_empty() ? known_.begin : begin, top});
  }

  /// Effects: reports dead bytes that were written to.
  void verify(const void* resource) const noexcept { known_.verify(known_.bytes(), resource); }

  /// As `verify`. The stack then moves to other memory, which has no known dead bytes.
  void leave(const void* resource) noexcept {
    verify(resource);
    known_ = {};
  }

private:
  void replace_by(const poison_range& freed) noexcept { replace_by(freed, freed); }
  void replace_by(const poison_range& freed, const poison_range& known) noexcept {
    freed.poison();
    known_ = known;
  }

  poison_range known_;
};

template <int Place>
class stack_poison<Place, false> {
public:
  static void take(std::byte* /*from*/, std::byte* /*to*/, const void* /*resource*/) noexcept {}
  static void poison_above(std::byte* /*top*/, std::byte* /*end*/) noexcept {}
  static void poison_below(std::byte* /*begin*/, std::byte* /*top*/) noexcept {}
  static void verify(const void* /*resource*/) noexcept {}
  static void leave(const void* /*resource*/) noexcept {}
};

}  // namespace ashlar::ASHLAR_ABI::detail
