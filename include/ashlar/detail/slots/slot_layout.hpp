// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layout of slots and words in a slab for objects of one size, known at compile time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slab/cell_guard.hpp>
#include <ashlar/detail/slots/slot_guard.hpp>
#include <ashlar/detail/slots/slot_slab.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Finds the slot and the word of an object by arithmetic alone, without reading a header. A slab has
/// `slot_slab_alignment` bytes and as many slots as fit. If fewer than two fit, it has one slot and the necessary
/// length. A pool may make slabs with fewer slots.
template <policy::threads Threads, std::size_t ObjectBytes, std::size_t ObjectAlignment, bool IsBeside>
struct slot_layout {
  using slab_type = slot_slab<Threads>;
  using word_type = slot_word_of<Threads>;

  static_assert(ObjectAlignment <= slot_slab_alignment / 4, "no slot is aligned to more than 64 KiB");

  static constexpr std::size_t word_bytes = sizeof(word_type);
  static constexpr std::size_t alignment = std::max(ObjectAlignment, alignof(word_type));
  /// At `hardened` no word lies beside an object, since an overflow would change the count.
  static constexpr bool is_beside = IsBeside && !has_guards;
  static constexpr std::size_t object_bytes = ObjectBytes;
  static constexpr std::size_t object_alignment = ObjectAlignment;
  using guard = slot_guard<ObjectBytes, ObjectAlignment>;
  /// Offset of a word after the object, from the start of the slot.
  static constexpr std::size_t word_offset = align_up(ObjectBytes, word_bytes);
  static constexpr std::size_t slot_bytes = is_beside ? align_up(word_offset + word_bytes, alignment) : guard::stride;
  static constexpr std::size_t bytes_per_slot = slot_bytes + (is_beside ? 0 : word_bytes);

private:
  static constexpr std::size_t header_bytes = sizeof(slab_type);
  // Slots with a larger alignment than the header start at different offsets after it.
  static constexpr std::size_t most_padding = alignment - 1;
  static constexpr std::size_t most_front = slab_type::most_gap + header_bytes + front_guard + most_padding;
  static constexpr std::size_t fitting = most_front + bytes_per_slot > slot_slab_alignment
                                             ? 0
                                             : (slot_slab_alignment - most_front) / bytes_per_slot;

public:
  static constexpr std::uint32_t slots_per_slab = static_cast<std::uint32_t>(std::max<std::size_t>(fitting, 1));
  static constexpr std::size_t words_bytes = is_beside ? 0 : slots_per_slab * word_bytes;

  /// Returns: the bytes of a slab with `slots` slots. Expects: at most `slots_per_slab`.
  [[nodiscard]] static constexpr std::size_t slab_bytes(std::uint32_t slot_count) noexcept {
    if (slot_count == slots_per_slab && slot_count > 1) return slot_slab_alignment;
    return most_front + words_bytes + slot_count * slot_bytes;
  }

  [[nodiscard]] ASHLAR_INLINE static std::byte* slots_of(slab_type* header) noexcept {
    constexpr std::size_t front = header_bytes + words_bytes + front_guard;
    std::byte* const start = static_cast<std::byte*>(static_cast<void*>(header));
    if constexpr (alignment <= alignof(slab_type)) return start + align_up(front, alignment);
    else return align_up(static_cast<void*>(start + front), alignment);
  }

  [[nodiscard]] ASHLAR_INLINE static std::byte* words_of(slab_type* header) noexcept {
    if constexpr (is_beside) return slots_of(header) + word_offset;
    else return static_cast<std::byte*>(static_cast<void*>(header)) + header_bytes;
  }

  /// Returns: as `slab.word_at(index)`.
  [[nodiscard]] ASHLAR_INLINE static word_type& word_at(slab_type& slab, std::uint32_t index) noexcept {
    constexpr std::size_t stride = is_beside ? slot_bytes : word_bytes;
    return *static_cast<word_type*>(static_cast<void*>(words_of(&slab) + std::size_t{index} * stride));
  }

  /// Returns: as `slab.slot_at(index)`.
  [[nodiscard]] ASHLAR_INLINE static void* slot_at(slab_type& slab, std::uint32_t index) noexcept {
    return slots_of(&slab) + std::size_t{index} * slot_bytes;
  }

  /// Returns: the index of the slot that starts at `slot`.
  [[nodiscard]] ASHLAR_INLINE static std::uint32_t index_of(slab_type& slab, const void* slot) noexcept {
    if constexpr (slots_per_slab == 1) return 0;
    else return static_cast<std::uint32_t>(address_of(slot) - address_of(slots_of(&slab))) / divisor;
  }

  /// Returns: the word of the object at the start of a slot.
  [[nodiscard]] ASHLAR_INLINE static word_type& word_of(const void* slot) noexcept {
    if constexpr (is_beside) {
      void* const word = static_cast<std::byte*>(const_cast<void*>(slot)) + word_offset;
      return *static_cast<word_type*>(word);
    } else {
      slab_type& slab = *slab_type::around(slot);
      return word_at(slab, index_of(slab, slot));
    }
  }

private:
  static constexpr std::uint32_t divisor = static_cast<std::uint32_t>(slots_per_slab == 1 ? 1 : slot_bytes);
};

}  // namespace ashlar::ASHLAR_ABI::detail
