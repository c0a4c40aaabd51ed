// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two-level index of free blocks by size: the bin of a size, and the first bin that serves a request.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The access to the links of a free block: `link` refers to a block, `none` to no block.
template <class N>
concept tlsf_nodes = requires(N& nodes, const N& c, typename N::link at) {
  { N::none } -> std::convertible_to<typename N::link>;
  { c.next(at) } noexcept -> std::same_as<typename N::link>;
  { c.previous(at) } noexcept -> std::same_as<typename N::link>;
  { c.size(at) } noexcept -> std::unsigned_integral;
  nodes.set_next(at, at);
  nodes.set_previous(at, at);
};

/// A free list for each bin, and two levels of bits that mark the non-empty lists. The links lie with the blocks
/// (`Nodes`), so that one index serves addresses, offsets and handles.
///
///       rows_          . . 1 . 1 .          one bit a row: some column has a block
///       columns_[row]  . 1 . . 1 . . .      one bit a step: the bin has a block
///       heads_[bin]    -> block <-> block   most recent first
///
/// Invariant: a bit is set exactly if its list is not empty; a block's size falls in the bin of its list.
/// Complexity: all O(1), `invariant` O(blocks). Thread safety: none.
template <class Scale, tlsf_nodes Nodes>
class tlsf_index {
public:
  using link = typename Nodes::link;
  static constexpr link none = Nodes::none;

  tlsf_index() noexcept { clear(); }

  /// Effects: removes all blocks.
  void clear() noexcept {
    rows_ = 0;
    columns_.fill(0);
    heads_.fill(none);
  }

  /// Expects: `size` equals `nodes.size(at)`, and the block is not in the index.
  template <std::unsigned_integral Size>
  ASHLAR_INLINE void insert(Nodes& nodes, link at, Size size) noexcept {
    const unsigned bin = Scale::bin_of(size);
    const link second = heads_[bin];
    heads_[bin] = at;
    nodes.set_previous(at, none);
    nodes.set_next(at, second);
    if (second != none) nodes.set_previous(second, at);
    columns_[bin / Scale::steps] |= 1u << (bin % Scale::steps);
    rows_ |= row_bits{1} << (bin / Scale::steps);
  }

  /// Expects: the block is in the index and has this `size`.
  template <std::unsigned_integral Size>
  ASHLAR_INLINE void remove(Nodes& nodes, link at, Size size) noexcept {
    const link next = nodes.next(at);
    const link previous = nodes.previous(at);
    if (next != none) nodes.set_previous(next, previous);
    if (previous != none) nodes.set_next(previous, next);
    else drop_head(Scale::bin_of(size), next);
  }

  /// Returns: the most recent block of the bin of `size`, perhaps too small; or none.
  template <std::unsigned_integral Size>
  [[nodiscard]] ASHLAR_INLINE link of_bin(Size size) const noexcept {
    return heads_[Scale::bin_of(size)];
  }

  /// Returns: a block of at least `size`, from the smallest bin with only such blocks; or none.
  template <std::unsigned_integral Size>
  [[nodiscard]] ASHLAR_INLINE link above(Size size) const noexcept {
    return first_from(Scale::bin_for(size));
  }

  /// Returns: a block for which `fits(block)`: the most recent one of the bin of `size`; otherwise one of at least
  /// `room`, which always fits; otherwise the most recent one of the bin of `room`; or none. So the block inserted last
  /// is found if it is of at least `room`. Expects: `size <= room <= Scale::most`.
  template <std::unsigned_integral Size, class Fits>
  [[nodiscard]] ASHLAR_INLINE link find(Size size, Size room, Fits fits) const noexcept {
    const link latest = of_bin(size);
    if (latest != none && fits(latest)) return latest;
    const link larger = above(room);
    if (ASHLAR_LIKELY(larger != none) || size == room) return larger;
    const link last = of_bin(room);
    return last != none && fits(last) ? last : none;
  }

  /// Returns: a block of the highest non-empty bin, or none. No free block is larger by more than a step.
  [[nodiscard]] link largest() const noexcept {
    if (rows_ == 0) return none;
    const auto row = static_cast<unsigned>(std::bit_width(rows_)) - 1;
    return heads_[row * Scale::steps + static_cast<unsigned>(std::bit_width(columns_[row])) - 1];
  }

  [[nodiscard]] bool empty() const noexcept { return rows_ == 0; }

  /// Returns: the number of blocks in the index. Complexity: O(blocks).
  [[nodiscard]] std::size_t count(const Nodes& nodes) const noexcept {
    std::size_t sum = 0;
    for (link head : heads_)
      for (link at = head; at != none; at = nodes.next(at)) ++sum;
    return sum;
  }

  [[nodiscard]] bool invariant(const Nodes& nodes) const noexcept {
    for (unsigned bin = 0; bin < Scale::bins; ++bin) {
      const bool has_bit = (columns_[bin / Scale::steps] >> (bin % Scale::steps) & 1) != 0;
      if (has_bit != (heads_[bin] != none) || !is_list_of(nodes, bin)) return false;
    }
    for (unsigned row = 0; row < Scale::rows; ++row)
      if ((rows_ >> row & 1) != row_bits{columns_[row] != 0}) return false;
    return true;
  }

private:
  using row_bits = std::conditional_t<(Scale::rows <= 32), std::uint32_t, std::uint64_t>;

  // The last block of a bin clears the bit of the bin, and the bit of the row if it is the last there.
  ASHLAR_INLINE void drop_head(unsigned bin, link next) noexcept {
    heads_[bin] = next;
    if (next != none) return;
    const unsigned row = bin / Scale::steps;
    columns_[row] &= ~(1u << (bin % Scale::steps));
    if (columns_[row] == 0) rows_ &= ~(row_bits{1} << row);
  }

  [[nodiscard]] ASHLAR_INLINE link first_from(unsigned bin) const noexcept {
    if (ASHLAR_UNLIKELY(bin >= Scale::bins)) return none;
    unsigned row = bin / Scale::steps;
    std::uint32_t columns = columns_[row] & (~std::uint32_t{0} << (bin % Scale::steps));
    if (columns == 0) {
      const auto rows =
          static_cast<row_bits>(rows_ & ((~row_bits{0} << row) << 1));  // two shifts: the row may be the last bit
      if (ASHLAR_UNLIKELY(rows == 0)) return none;
      row = static_cast<unsigned>(first_bit(rows));
      columns = columns_[row];
    }
    return heads_[row * Scale::steps + static_cast<unsigned>(first_bit(columns))];
  }

  [[nodiscard]] bool is_list_of(const Nodes& nodes, unsigned bin) const noexcept {
    link previous = none;
    for (link at = heads_[bin]; at != none; previous = at, at = nodes.next(at))
      if (nodes.previous(at) != previous || Scale::bin_of(nodes.size(at)) != bin) return false;
    return true;
  }

  row_bits rows_;
  std::array<std::uint32_t, Scale::rows> columns_;
  std::array<link, Scale::bins> heads_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
