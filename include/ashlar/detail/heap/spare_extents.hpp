// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The spare extents of a heap, at most sixteen, in the order of their frees.
#pragma once

#include <cstddef>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/expects.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Thread safety: none. Never allocates. Complexity: O(extents), at most `most`.
class spare_extents {
public:
  static constexpr std::size_t most = 16;
  static constexpr std::size_t none = most;

  [[nodiscard]] bool is_full() const noexcept { return count_ == most; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] const window& operator[](std::size_t i) const noexcept { return extents_[i]; }

  /// Expects: there is room.
  void add(const window& extent) noexcept {
    ASHLAR_ASSERT(!is_full());
    extents_[count_++] = extent;
    bytes_ += extent.bytes();
  }

  /// Effects: removes an extent. Returns: it.
  window remove(std::size_t i) noexcept {
    const window gone = extents_[i];
    std::memmove(extents_ + i, extents_ + i + 1, (count_ - i - 1) * sizeof(window));
    --count_;
    old_ -= i < old_ ? 1 : 0;
    bytes_ -= gone.bytes();
    return gone;
  }

  /// Returns: the index of the extent that starts at `p`, or `none`.
  [[nodiscard]] std::size_t find(const void* p) const noexcept {
    for (std::size_t i = 0; i < count_; ++i)
      if (extents_[i].start == p) return i;
    return none;
  }

  /// Returns: the bytes of the largest extent that may serve a request: twice as many, or from level `checked` on,
  /// which checks sizes, an eighth more.
  [[nodiscard]] static constexpr std::size_t most_for(std::size_t bytes) noexcept {
    return bytes + bytes / (checking_level >= checking::checked ? 8 : 1);
  }

  /// Returns: the index of the smallest extent with room, at most `most_for(bytes)`, the newest of its size; or `none`.
  [[nodiscard]] std::size_t best_for(std::size_t bytes, std::size_t alignment) const noexcept {
    std::size_t best = none, least = most_for(bytes);
    for (std::size_t i = count_; i-- != 0;) {
      const std::size_t held = extents_[i].bytes();
      if (held < bytes || held > least || !is_aligned(extents_[i].start, alignment)) continue;
      best = i;
      if (held == bytes) break;
      least = held - 1;
    }
    return best;
  }

  /// Returns: the index of the smallest extent with room, or else of the largest extent; or `none`.
  [[nodiscard]] std::size_t nearest_to(std::size_t bytes, std::size_t alignment) const noexcept {
    std::size_t above = none, below = none;
    for (std::size_t i = count_; i-- != 0;) {
      const std::size_t held = extents_[i].bytes();
      if (held < bytes) below = below == none || held > extents_[below].bytes() ? i : below;
      else if (is_aligned(extents_[i].start, alignment))
        above = above == none || held < extents_[above].bytes() ? i : above;
    }
    return above != none ? above : below;
  }

  /// Effects: ends an epoch. Returns: the number of extents, the first ones, that were held during all of it.
  std::size_t end_epoch() noexcept {
    const std::size_t were = old_;
    old_ = count_;
    return were;
  }

  void clear() noexcept { count_ = old_ = bytes_ = 0; }

  [[nodiscard]] bool invariant() const noexcept {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < count_; ++i) sum += extents_[i].bytes();
    return sum == bytes_ && old_ <= count_;
  }

private:
  std::size_t count_ = 0;
  std::size_t old_ = 0;  // extents held since before the epoch
  std::size_t bytes_ = 0;
  window extents_[most] = {};
};

}  // namespace ashlar::ASHLAR_ABI::detail
