// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The 32-bit word of a slot: a reference count while its object lives, a link while it is free.
#pragma once

#include <cstdint>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/expects.hpp>
#include <ashlar/detail/support/hints.hpp>

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
inline constexpr std::uint32_t max_slots = closed;
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

}  // namespace ashlar::ASHLAR_ABI::detail
