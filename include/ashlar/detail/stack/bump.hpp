// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pointer that moves through given memory: each block lies after the one before it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Allocates the memory between `top` and `end`, upwards. The owner keeps the start address.
///
///       | block | pad | block |      free      |
///                             top              end
///
/// Invariant: `top() <= end()`. Complexity: O(1).
class bump {
public:
  constexpr bump() = default;
  constexpr bump(std::byte* top, std::byte* end) noexcept : top_(top), end_(end) {}

  /// The address of a block, and whether it is free. An address, because a place that is not free need not be in the
  /// memory.
  struct place {
    std::uintptr_t begin;
    std::uintptr_t end;
    bool is_free;
  };

  /// Returns: the place for a block, free unless the rest is too small or `alignment` is not a power of two. A block of
  /// 0 bytes takes one byte, so that its address is unique.
  [[nodiscard]] ASHLAR_INLINE place place_for(std::size_t bytes, std::size_t alignment) const noexcept {
    const std::uintptr_t top = address_of(top_);
    const std::size_t taken = occupied(bytes);
    if (is_small(bytes) && is_small(alignment) && is_power_of_two(alignment)) {
      const std::uintptr_t begin = align_up(top, alignment);  // the fewest instructions from one top to the next
      return {begin, begin + taken, begin + taken <= address_of(end_)};
    }
    const std::size_t padding = (0 - top) & (alignment - 1);
    return {top + padding, top + padding + taken, taken <= room_behind(padding, has_one_bit(alignment))};
  }

  /// Returns: the block. Expects: `at` is free and nothing was taken since `place_for`.
  [[nodiscard]] ASHLAR_INLINE void* take(const place& at, std::size_t bytes) noexcept {
    top_ = reinterpret_cast<std::byte*>(at.end);
    auto* const begin = reinterpret_cast<void*>(at.begin);
    mark_live(begin, bytes);
    return begin;
  }

  /// Returns: whether `p`, of `bytes`, is the top block.
  [[nodiscard]] ASHLAR_INLINE bool is_last(const void* p, std::size_t bytes) const noexcept {
    return address_of(p) + occupied(bytes) == address_of(top_);
  }

  /// Effects: takes the top block back; its padding stays. Expects: `p` is the top block.
  ASHLAR_INLINE void take_back(void* p, std::size_t bytes) noexcept {
    mark_free(p, bytes);
    top_ = static_cast<std::byte*>(p);
  }

  /// Returns: whether the top block was resized to `new_bytes`. Expects: `is_last(p, bytes)`.
  [[nodiscard]] bool resize_last(void* p, std::size_t bytes, std::size_t new_bytes) noexcept {
    auto* const first = static_cast<std::byte*>(p);
    if (occupied(new_bytes) > static_cast<std::size_t>(end_ - first)) return false;
    top_ = first + occupied(new_bytes);
    if (new_bytes < bytes) mark_free(first + new_bytes, bytes - new_bytes);
    else mark_live(first + bytes, new_bytes - bytes);
    return true;
  }

  /// Effects: takes back all blocks above `top`. Expects: `top` lies in the same memory, and not above `top()`.
  void rewind(std::byte* top) noexcept {
    mark_free(top, static_cast<std::size_t>(top_ - top));
    top_ = top;
  }

  [[nodiscard]] std::byte* top() const noexcept { return top_; }
  [[nodiscard]] std::byte* end() const noexcept { return end_; }
  [[nodiscard]] ASHLAR_INLINE std::size_t rest() const noexcept { return static_cast<std::size_t>(end_ - top_); }
  [[nodiscard]] bool invariant() const noexcept { return top_ <= end_; }

private:
  // No memory lies in the last page of the address space: sums with constants up to this limit cannot wrap.
  [[nodiscard]] static ASHLAR_INLINE bool is_small(std::size_t n) noexcept {
    return ASHLAR_IS_CONSTANT(n) && n <= 1024;
  }

  // Returns: the bytes after the padding; 0 if the padding does not fit or the alignment is invalid. No sum can wrap,
  // at any size. A mask instead of a branch: the caller's comparison is then the only branch.
  [[nodiscard]] ASHLAR_INLINE std::size_t room_behind(std::size_t padding, bool has_any) const noexcept {
    const auto fits = static_cast<std::size_t>(padding <= rest());
    return (rest() - padding) & (0 - (fits & static_cast<std::size_t>(has_any)));
  }

  [[nodiscard]] static ASHLAR_INLINE std::size_t occupied(std::size_t bytes) noexcept { return bytes + (bytes == 0); }
  // 0 passes: its padding is larger than any rest.
  [[nodiscard]] static ASHLAR_INLINE bool has_one_bit(std::size_t n) noexcept { return (n & (n - 1)) == 0; }

  std::byte* top_ = nullptr;
  std::byte* end_ = nullptr;
};

}  // namespace ashlar::ASHLAR_ABI::detail
