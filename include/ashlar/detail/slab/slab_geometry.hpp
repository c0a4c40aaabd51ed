// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layout of a slab: header, bitmap, cells, and the colour that shifts them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slab/cell_guard.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The input of a slab's layout.
struct slab_shape {
  std::size_t cell_bytes = 0;
  std::size_t cell_alignment = 1;
  std::size_t slab_bytes = 0;
  std::size_t header_bytes = 0;
};

/// The layout of every slab of one pool. A slab is aligned to its own size:
///
///   slab                 + colour * step       + cells
///   | unused colour gap  | header | bitmap     | cell 0 | cell 1 | ...        | rest |
///
/// The colour is a function of the slab's address, so that header and cell are found without a load. Without it, the
/// headers and the equal cells of all slabs would map to the same cache sets (Bonwick, "The Slab Allocator", 1994,
/// section 4).
/// At level `hardened` there are three bitmaps and guards in front of the first cell and after each, so the stride is
/// larger (`detail/slab/cell_guard.hpp`); below it the stride is the cell size.
/// Invariant: `capacity(colour) >= 1`; gaps take at most 1/128 of a slab.
class slab_geometry {
public:
  static constexpr std::size_t line_bytes = 64;
  static constexpr std::size_t max_colours = 16;

  constexpr slab_geometry() = default;

  /// Expects: sizes positive, alignments powers of two, `slab_bytes` a power of two with room for one cell.
  constexpr explicit slab_geometry(const slab_shape& shape) noexcept
      : cell_bytes_(static_cast<std::uint32_t>(shape.cell_bytes)),
        slab_bytes_(static_cast<std::uint32_t>(shape.slab_bytes)),
        step_(static_cast<std::uint32_t>(detail::max(line_bytes, shape.cell_alignment))),
        cell_alignment_(static_cast<std::uint32_t>(shape.cell_alignment)), slab_shift_(log2_of(slab_bytes_)),
        stride_(shape), inverse_(static_cast<std::uint32_t>(cell_stride())) {
    set_words(shape, bitmap_words(shape, cell_stride()));
    if (capacity_behind(0) > words_ * 64) set_words(shape, words_ + 1);
    colour_mask_ = static_cast<std::uint32_t>(colours(shape.slab_bytes / 128 / step_) - 1);
  }

  [[nodiscard]] constexpr std::size_t cell_bytes() const noexcept { return cell_bytes_; }
  [[nodiscard]] constexpr std::size_t cell_alignment() const noexcept { return cell_alignment_; }
  /// Returns: the distance of neighbouring cells, in bytes.
  [[nodiscard]] ASHLAR_INLINE constexpr std::size_t cell_stride() const noexcept { return stride_.around(cell_bytes_); }
  /// Returns: bytes of guard after a cell.
  [[nodiscard]] constexpr std::size_t guard_bytes() const noexcept { return cell_stride() - cell_bytes_; }
  [[nodiscard]] constexpr std::size_t slab_bytes() const noexcept { return slab_bytes_; }
  /// Returns: whether a cell can hold such a block.
  [[nodiscard]] ASHLAR_INLINE constexpr bool fits(std::size_t bytes, std::size_t alignment) const noexcept {
    return bytes <= cell_bytes_ && alignment <= cell_alignment_ && is_power_of_two(alignment);
  }
  /// Returns: the number of 64-bit words in each of a slab's bitmaps.
  [[nodiscard]] constexpr std::size_t words() const noexcept { return words_; }

  /// Returns: the start of the slab around a cell or header.
  [[nodiscard]] ASHLAR_INLINE std::byte* slab_of(void* p) const noexcept { return align_down(p, slab_bytes_); }

  /// Returns: the slab number of the slab around `p`, unique among slabs of this size.
  [[nodiscard]] ASHLAR_INLINE std::size_t slab_number(const void* p) const noexcept {
    return address_of(p) >> slab_shift_;
  }

  /// Returns: the header of the slab at `slab`.
  [[nodiscard]] ASHLAR_INLINE std::byte* header_of(std::byte* slab) const noexcept {
    return slab + gap(address_of(slab));
  }

  /// Returns: the first cell after a header.
  [[nodiscard]] ASHLAR_INLINE std::byte* cells_of(void* header) const noexcept {
    return static_cast<std::byte*>(header) + cells_offset_;
  }

  /// Returns: the index of the cell that starts `offset` bytes after the first. Expects: a cell starts there.
  [[nodiscard]] ASHLAR_INLINE std::uint32_t index_of(std::size_t offset) const noexcept {
    return inverse_.divide(static_cast<std::uint32_t>(offset));
  }

  /// Returns: the divisor of `index_of`.
  [[nodiscard]] constexpr const reciprocal& by_cell() const noexcept { return inverse_; }

  /// Returns: the number of cells that fit in the slab at `slab`.
  [[nodiscard]] std::uint32_t capacity(const std::byte* slab) const noexcept {
    return capacity_behind(gap(address_of(slab)));
  }

  /// Returns: the number of cells that fit with any colour.
  [[nodiscard]] constexpr std::uint32_t least_capacity() const noexcept {
    return capacity_behind(std::size_t{colour_mask_} * step_);
  }

private:
  // At `hardened` the stride is stored, since every call needs it; below, it is the cell size and takes no bytes.
  struct guarded_stride {
    std::uint32_t bytes = 0;

    constexpr guarded_stride() = default;
    constexpr explicit guarded_stride(const slab_shape& shape) noexcept
        : bytes(static_cast<std::uint32_t>(align_up(shape.cell_bytes + least_guard, shape.cell_alignment))) {}
    [[nodiscard]] ASHLAR_INLINE constexpr std::size_t around(std::size_t) const noexcept { return bytes; }
  };
  struct plain_stride {
    constexpr plain_stride() = default;
    constexpr explicit plain_stride(const slab_shape&) noexcept {}
    [[nodiscard]] static ASHLAR_INLINE constexpr std::size_t around(std::size_t cell_bytes) noexcept {
      return cell_bytes;
    }
  };
  using stride = std::conditional_t<has_guards, guarded_stride, plain_stride>;

  constexpr void set_words(const slab_shape& shape, std::uint32_t words) noexcept {
    words_ = words;
    const std::size_t metadata = shape.header_bytes + words_ * sizeof(std::uint64_t) * cell_bitmaps;
    cells_offset_ = static_cast<std::uint32_t>(align_up(metadata + front_guard, shape.cell_alignment));
  }

  // Sized for the number of cells with stride and bit each; rounding may leave room for one more.
  [[nodiscard]] static constexpr std::uint32_t bitmap_words(const slab_shape& shape, std::size_t stride) noexcept {
    const std::uint64_t bits = std::uint64_t{8} * (shape.slab_bytes - shape.header_bytes);
    const std::uint64_t cells = bits / (std::uint64_t{8} * stride + cell_bitmaps);
    return static_cast<std::uint32_t>((cells + 63) / 64);
  }

  [[nodiscard]] static constexpr std::size_t colours(std::size_t wanted) noexcept {
    return std::bit_floor(detail::clamp(wanted, std::size_t{1}, max_colours));
  }

  [[nodiscard]] ASHLAR_INLINE constexpr std::size_t gap(std::uintptr_t slab) const noexcept {
    return ((slab >> slab_shift_) & colour_mask_) * step_;  // a shift, since every uncached free computes it
  }

  [[nodiscard]] constexpr std::uint32_t capacity_behind(std::size_t gap) const noexcept {
    const std::size_t taken = gap + cells_offset_;
    return taken >= slab_bytes_ ? 0 : static_cast<std::uint32_t>((slab_bytes_ - taken) / cell_stride());
  }

  std::uint32_t cell_bytes_ = 0;
  std::uint32_t slab_bytes_ = 0;
  std::uint32_t step_ = 0;
  std::uint32_t cell_alignment_ = 0;
  std::uint32_t words_ = 0;
  std::uint32_t cells_offset_ = 0;
  std::uint32_t colour_mask_ = 0;
  std::uint32_t slab_shift_ = 0;
  ASHLAR_NO_UNIQUE_ADDRESS stride stride_;
  reciprocal inverse_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
