// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A slab of equal slots for objects, and its header, which is found from any pointer into the slab.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slots/slot_stack.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

template <policy::threads Threads>
struct slot_pool_core;

/// The word of a slot under a threads policy.
template <policy::threads Threads>
using slot_word_of = std::conditional_t<Threads::is_shared, shared_slot_word<>, plain_slot_word>;

/// Every slab starts at a multiple of this, so that the address of any of its first `slot_slab_alignment` bytes leads
/// to the header: see `around`.
inline constexpr std::size_t slot_slab_alignment = std::size_t{256} * 1024;

/// The header of a slab.
///
///     words in the slab     | colour gap | header | word 0 | word 1 | ... | slot 0 | slot 1 | ...
///     words beside          | colour gap | header | slot 0 | word 0 | slot 1 | word 1 | ...
///
/// The gap, 0 to 960 bytes in steps of 64, is a function of the slab's address: without it the headers of all slabs
/// would fall into the same cache sets. The first cache line is constant while the slab exists; the second belongs to
/// the thread that takes slots. Invariant: `live` is the number of slots that are not in `free`; slots in transit are
/// live.
template <policy::threads Threads>
struct alignas(64) slot_slab {
  using word_type = slot_word_of<Threads>;

  static constexpr std::size_t colours = 16;
  static constexpr std::size_t colour_step = 64;
  static constexpr std::size_t most_gap = (colours - 1) * colour_step;

  slot_pool_core<Threads>* home;
  std::byte* first_slot;
  std::byte* words;            ///< the word of slot 0
  std::uint64_t factor;        ///< ceil(2^40 / slot_bytes), or 0 with one slot
  std::uint32_t slot_bytes;    ///< from slot to slot, with the guard between them
  std::uint32_t word_stride;   ///< from word to word
  std::uint32_t capacity;      ///< slots that may be taken
  std::uint32_t room;          ///< slots with memory; the growing pool adds them to `capacity`
  std::uint32_t first_number;  ///< of slot 0, among all slots of the pool
  bool ends_plainly;           ///< the last release of an object only gives its slot back
  bool ends_by_destroying;     ///< the last release destroys the object before, and does no more

  alignas(64) slot_stack free;
  std::uint32_t live;
  std::uint32_t signal_at;  ///< `hear_from` is called when `live` falls below this
  slot_slab* next;          ///< in the pool's list of slabs with free slots
  slot_slab* previous;
  std::size_t bytes;  ///< of the slab, as requested
  bool is_current;    ///< whether slots are taken from it
  ASHLAR_NO_UNIQUE_ADDRESS slab_registration_if_checked registration;

  /// Returns: the header of the slab around a pointer into its first `slot_slab_alignment` bytes.
  [[nodiscard]] ASHLAR_INLINE static slot_slab* around(const void* p) noexcept {
    return in(align_down(const_cast<void*>(p), slot_slab_alignment));
  }

  /// Returns: the header of the slab that starts at `start`.
  [[nodiscard]] ASHLAR_INLINE static slot_slab* in(std::byte* start) noexcept {
    const std::size_t colour = (address_of(start) / slot_slab_alignment) % colours;
    return static_cast<slot_slab*>(static_cast<void*>(start + colour * colour_step));
  }

  [[nodiscard]] std::byte* start() noexcept { return align_down(static_cast<void*>(this), slot_slab_alignment); }

  /// Returns: the index of the slot that a pointer points into. Expects: it points into one; for a slab's only slot,
  /// into its first 256 KiB. (The error of the multiplication is below 2^18 * 2^17 / 2^40 of a slot.)
  [[nodiscard]] ASHLAR_INLINE std::uint32_t index_of(const void* p) const noexcept {
    const std::uint64_t offset = address_of(p) - address_of(first_slot);
    return static_cast<std::uint32_t>((offset * factor) >> 40);
  }

  [[nodiscard]] ASHLAR_INLINE word_type& word_at(std::uint32_t index) const noexcept {
    return *static_cast<word_type*>(static_cast<void*>(words + std::size_t{index} * word_stride));
  }

  [[nodiscard]] ASHLAR_INLINE void* slot_at(std::uint32_t index) const noexcept {
    return first_slot + std::size_t{index} * slot_bytes;
  }

  [[nodiscard]] static std::uint64_t factor_for(std::size_t slot_bytes, std::uint32_t capacity) noexcept {
    if (capacity == 1 || slot_bytes == 0) return 0;
    return ((std::uint64_t{1} << 40) + slot_bytes - 1) / slot_bytes;
  }

  /// Returns: whether each slot is either free once or counted as live. Complexity: O(capacity).
  [[nodiscard]] bool invariant() const noexcept {
    const auto words_here = [this](std::uint32_t number) -> word_type& { return word_at(number); };
    if (!free.invariant(capacity, words_here)) return false;
    std::uint32_t taken = 0;
    free.for_each_taken(words_here, [&](std::uint32_t) { ++taken; });
    return taken == live;
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
