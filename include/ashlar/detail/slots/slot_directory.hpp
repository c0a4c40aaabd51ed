// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The slabs of a pool by their numbers, in a table with entries that never move.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The first entries lie in the table itself, the others in segments of memory that the owner provides. A segment has
/// seven times as many entries as all before it:
///
///     numbers   0 .. 63 | 64 .. 511 | 512 .. 4095 | ...
///               inline  | segment 0 | segment 1   | ...
///
/// An entry is set before any slot of its slab is handed out. A thread with a slot may therefore look its slab up
/// without a lock, while others are added. Thread safety: `at` any thread with a slot of that slab; the others one at a
/// time.
template <class Slab>
class slot_directory {
public:
  static constexpr std::uint32_t inline_entries = 64;
  static constexpr std::size_t segments = 8;  // 2^30 entries

  [[nodiscard]] Slab* at(std::uint32_t number) const noexcept {
    if (ASHLAR_LIKELY(number < inline_entries)) return first_[number];
    const std::size_t s = segment_of(number);
    return segments_[s][number - first_of(s)];
  }

  /// Returns: one past the highest number ever added.
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

  /// Returns: the lowest number without a slab. Complexity: O(size()) after a removal, else O(1).
  [[nodiscard]] std::uint32_t vacancy() const noexcept {
    std::uint32_t number = lowest_;
    while (number < size_ && at(number) != nullptr) ++number;
    return number;
  }

  /// Returns: whether `add(number)` needs a segment first.
  [[nodiscard]] bool needs_segment(std::uint32_t number) const noexcept {
    return number >= inline_entries && segments_[segment_of(number)] == nullptr;
  }
  /// Returns: the bytes of the segment of `number`.
  [[nodiscard]] static std::size_t segment_bytes(std::uint32_t number) noexcept { return bytes_of(segment_of(number)); }
  /// Expects: `needs_segment(number)`; `memory` has `segment_bytes(number)` bytes, aligned for a pointer.
  void add_segment(std::uint32_t number, void* memory) noexcept {
    segments_[segment_of(number)] = static_cast<Slab**>(memory);
  }

  /// Expects: `number == vacancy()`, and there is a segment for it.
  void add(std::uint32_t number, Slab* slab) noexcept {
    set(number, slab);
    lowest_ = number + 1;
    if (number == size_) ++size_;
  }

  /// Expects: there is a slab with that number, and no slot of it is out.
  void remove(std::uint32_t number) noexcept {
    set(number, nullptr);
    if (number < lowest_) lowest_ = number;
  }

  /// Effects: calls `f(slab)` for each slab, the lowest number first; `f` may remove it.
  template <class F>
  void for_each(F f) const {
    for (std::uint32_t number = 0; number < size_; ++number)
      if (Slab* const slab = at(number); slab != nullptr) f(*slab);
  }

  /// Effects: calls `f(memory, bytes)` for each segment. The directory must not be used afterwards.
  template <class F>
  void for_each_segment(F f) const {
    for (std::size_t s = 0; s < segments; ++s)
      if (segments_[s] != nullptr) f(static_cast<void*>(segments_[s]), bytes_of(s));
  }

private:
  [[nodiscard]] static std::uint32_t first_of(std::size_t segment) noexcept { return inline_entries << (3 * segment); }
  [[nodiscard]] static std::size_t bytes_of(std::size_t segment) noexcept {
    return std::size_t{first_of(segment)} * 7 * sizeof(Slab*);
  }
  [[nodiscard]] static std::size_t segment_of(std::uint32_t number) noexcept {
    return (static_cast<std::size_t>(std::bit_width(number / inline_entries)) - 1) / 3;
  }

  void set(std::uint32_t number, Slab* slab) noexcept {
    const std::size_t s = number < inline_entries ? 0 : segment_of(number);
    (number < inline_entries ? first_[number] : segments_[s][number - first_of(s)]) = slab;
  }

  std::uint32_t size_ = 0;
  std::uint32_t lowest_ = 0;  // no number below it is vacant
  std::array<Slab*, inline_entries> first_ = {};
  std::array<Slab**, segments> segments_ = {};
};

}  // namespace ashlar::ASHLAR_ABI::detail
