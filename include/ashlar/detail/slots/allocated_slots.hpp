// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Equal slots and their words in one block of an upstream, allocated for the first slot.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slab/cell_guard.hpp>
#include <ashlar/detail/slots/slot_run.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// As `slot_run`, with a capacity given at run time.
///
///     block
///     | registration, if checked | front guard, if hardened | slot 0 | slot 1 | ...      | word 0 ... word n-1 |
///
/// The slots start at a cache line, or with the block from the size of a page on. Nothing is written before a slot is
/// taken, except atomic words. Thread safety: none, except as `Word` provides.
template <std::size_t Bytes, std::size_t Alignment, class Word, resource Upstream>
class allocated_slots {
public:
  using slot_type = slot_memory<Bytes, Alignment>;
  static constexpr std::size_t slot_bytes = Bytes;  ///< without the guard
  using word_type = Word;
  static constexpr bool allocates = true;
  static constexpr bool opens = true;

  /// Effects: stores the capacity; allocates nothing.
  constexpr explicit allocated_slots(std::size_t capacity, Upstream upstream = {})
      : capacity_(capacity), upstream_(std::move(upstream)) {}

  allocated_slots(const allocated_slots&) = delete;  // objects lie in it
  allocated_slots& operator=(const allocated_slots&) = delete;
  ~allocated_slots() {
    if (slots_ != nullptr) close();
  }

  [[nodiscard]] constexpr std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] ASHLAR_INLINE slot_type* first_slot() const noexcept { return slots_; }
  [[nodiscard]] ASHLAR_INLINE Word* words() const noexcept { return words_; }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return upstream_; }

  /// Returns: the bytes of the block. Expects: `is_open()`.
  [[nodiscard]] std::size_t held_bytes() const noexcept {
    std::size_t bytes = 0;
    static_cast<void>(block_bytes(bytes));
    return bytes;
  }
  /// Returns: whether the block is allocated.
  [[nodiscard]] ASHLAR_INLINE bool is_open() const noexcept { return slots_ != nullptr; }

  /// Effects: allocates the block. Throws: as the upstream; `std::bad_array_new_length` for a block that is too large
  /// or more than 2^30 - 2 slots. Expects: `!is_open()`.
  void open(const void* owner) {
    std::size_t bytes = 0;
    if (!block_bytes(bytes)) throw_bad_array_new_length();
    adopt(static_cast<std::byte*>(upstream_.allocate(bytes, alignment)), owner);
  }

  /// As `open`, but returns false instead of throwing.
  [[nodiscard]] bool try_open(const void* owner) noexcept {
    std::size_t bytes = 0;
    void* const block = block_bytes(bytes) ? try_allocate_from(upstream_, bytes, alignment) : nullptr;
    if (block != nullptr) adopt(static_cast<std::byte*>(block), owner);
    return block != nullptr;
  }

private:
  static constexpr bool is_registered = !std::is_empty_v<slab_registration_if_checked>;
  static constexpr std::size_t alignment =
      std::max({Alignment, std::size_t{64}, alignof(Word), alignof(slab_registration_if_checked)});
  static constexpr std::size_t stride = sizeof(slot_type);
  static constexpr std::size_t front =
      is_registered ? align_up(sizeof(slab_registration_if_checked) + front_guard, alignment) : 0;

  [[nodiscard]] static constexpr std::size_t words_offset(std::size_t slot_count) noexcept {
    return align_up(front + slot_count * stride, alignof(Word));
  }

  [[nodiscard]] bool block_bytes(std::size_t& bytes) const noexcept {
    std::size_t product = 0;
    if (capacity_ > slot_word::max_slots || !checked_mul(capacity_, stride + sizeof(Word), product)) return false;
    bytes = words_offset(capacity_) + capacity_ * sizeof(Word);
    return product <= max_block_bytes - front - 2 * alignment;
  }

  void adopt(std::byte* block, const void* owner) noexcept {
    words_ = static_cast<Word*>(static_cast<void*>(block + words_offset(capacity_)));
    slots_ = static_cast<slot_type*>(static_cast<void*>(block + front));
    if constexpr (!std::is_trivially_default_constructible_v<Word>)
      std::uninitialized_value_construct_n(words_, capacity_);
    if constexpr (is_registered)
      enter_slots(*std::construct_at(registration()), owner, block + front, capacity_ * stride, Bytes);
    mark_free(block + front - front_guard, front_guard + capacity_ * stride);
  }

  void close() noexcept {
    if constexpr (is_registered) registration()->leave();
    std::byte* const block = static_cast<std::byte*>(static_cast<void*>(slots_)) - front;
    const std::size_t bytes = held_bytes();
    mark_live(block + front - front_guard, front_guard + capacity_ * stride);
    upstream_.deallocate(block, bytes, alignment);
  }

  [[nodiscard]] slab_registration_if_checked* registration() const noexcept {
    void* const block = static_cast<std::byte*>(static_cast<void*>(slots_)) - front;
    return static_cast<slab_registration_if_checked*>(block);
  }

  slot_type* slots_ = nullptr;
  Word* words_ = nullptr;
  std::size_t capacity_;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
