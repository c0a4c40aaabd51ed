// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of a heap's segments: the slices of each, and a bound of its longest free run.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/grown_array.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/support/function_ref.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A segment's head has its index here: the last one takes the index of one that leaves. Thread safety: none.
template <class Slices>
class segment_table {
public:
  /// Effects: calls `f(segment&, free slices, fresh slices among them)` for each segment.
  template <class F>
  ASHLAR_INLINE void for_each_segment(F f) const {
    for (std::size_t i = 0; i < count_; ++i) f(*spaces_[i].home, spaces_[i].free, spaces_[i].fresh);
  }

  /// Effects: as `segment_slices::for_each_run`, by segments.
  void for_each_run(function_ref<segment&, std::size_t, std::size_t> f) const {
    for (std::size_t i = 0; i < count_; ++i) spaces_[i].for_each_run(f);
  }
  /// As above, for one segment. Expects: `i < segments()`.
  void for_each_run_of(std::size_t i, function_ref<segment&, std::size_t, std::size_t> f) const {
    spaces_[i].for_each_run(f);
  }

  [[nodiscard]] std::size_t segments() const noexcept { return count_; }
  /// Returns: bytes of the tables that are of the upstream.
  [[nodiscard]] std::size_t table_bytes() const noexcept {
    return spaces_.upstream_bytes() + longest_.upstream_bytes();
  }

protected:
  /// Effects: makes room for one more segment. Returns: whether there is room.
  template <class Extents>
  [[nodiscard]] bool make_room(Extents& space) noexcept {
    return (count_ != spaces_.capacity() || space.grow(spaces_)) &&
           (count_ != longest_.capacity() || space.grow(longest_));
  }

  /// Effects: removes segment `i`.
  void remove(std::size_t i) noexcept {
    spaces_[i] = spaces_[--count_];
    longest_[i] = longest_[count_];
    if (i != count_) spaces_[i].home->head.index = i;
  }

  /// Effects: forgets all segments and gives the tables back.
  template <class Upstream>
  void give_tables(Upstream& upstream) noexcept {
    spaces_.give_back(upstream);
    longest_.give_back(upstream);
    count_ = 0;
  }

  grown_array<Slices, 4> spaces_;
  grown_array<std::uint8_t, 16> longest_;  // upper bounds of the longest runs of free slices
  std::size_t count_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
