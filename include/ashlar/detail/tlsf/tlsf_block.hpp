// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A block with boundary tags: its header, its neighbours in memory, and its free-list links while it is free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The content of a header: the distance to the next block, and three flags in the low bits of the distance.
class tlsf_header {
public:
  static constexpr std::size_t free = 1;           ///< the block is free
  static constexpr std::size_t previous_free = 2;  ///< the block in front is free
  static constexpr std::size_t first = 4;          ///< there is no block in front
  static constexpr std::size_t flags = 7;

  explicit constexpr tlsf_header(std::size_t bits) noexcept : bits_(bits) {}

  [[nodiscard]] constexpr std::size_t bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr std::size_t stride() const noexcept { return bits_ & ~flags; }
  [[nodiscard]] constexpr bool is_free() const noexcept { return (bits_ & free) != 0; }
  [[nodiscard]] constexpr bool is_behind_free() const noexcept { return (bits_ & previous_free) != 0; }
  [[nodiscard]] constexpr bool is_first() const noexcept { return (bits_ & first) != 0; }
  /// Returns: whether this is the end mark after the last block of a region: no block, and never free.
  [[nodiscard]] constexpr bool is_end() const noexcept { return stride() == 0; }

private:
  std::size_t bits_;
};

/// A block, represented by the address of its data.
///
///        live:  | header | data ...                               | header of the next
///        free:  | header | next | previous | unused ... | stride  | header of the next
///               ^ data - header_bytes         footer: finds the block from behind
///      stride:  |<----------------------------------------------->|
///
/// A live block costs its header: 8 bytes on 64-bit systems, 4 on 32-bit ones. The footer lies in data bytes while the
/// block is live. From level `checked` on, the upper 24 bits of an 8-byte header are a sum over the rest and the
/// header's address, which tells a header from any other word. All metadata written here is poisoned again for the
/// tools.
class tlsf_block {
public:
  static constexpr bool is_sealed = checking_level >= checking::checked;
  using word = std::conditional_t<is_sealed, std::uint64_t, std::size_t>;

  static constexpr std::size_t granule = 2 * sizeof(void*);  ///< bytes: unit of strides and addresses
  static constexpr std::size_t header_bytes = sizeof(word);
  static constexpr std::size_t footer_bytes = sizeof(std::size_t);
  /// The smallest stride: the metadata of a free block.
  static constexpr std::size_t least = align_up(header_bytes + 2 * sizeof(void*) + footer_bytes, granule);
  static_assert(tlsf_header::flags < granule);

  explicit tlsf_block(std::byte* data) noexcept : data_(data) {}

  /// Returns: the stride of a block with room for `bytes`. Expects: no overflow.
  [[nodiscard]] static constexpr std::size_t stride_for(std::size_t bytes) noexcept {
    const std::size_t stride = align_up(bytes + header_bytes, granule);
    return stride < least ? least : stride;
  }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }

  [[nodiscard]] ASHLAR_INLINE tlsf_header header() const noexcept {
    const word read = peek<word>(data_ - header_bytes);
    if constexpr (is_sealed) return tlsf_header(static_cast<std::size_t>(read & low_bits));
    else return tlsf_header(read);
  }

  /// Returns: whether a valid header stands here; always true at level `fast`. Expects: the memory belongs to the
  /// resource.
  [[nodiscard]] bool is_sound() const noexcept {
    if constexpr (is_sealed) {
      const word read = peek<word>(data_ - header_bytes);
      return (sum_of(read) ^ read) <= low_bits;
    }
    return true;
  }

  ASHLAR_INLINE void set_header(std::size_t stride, std::size_t flags) noexcept {
    if constexpr (is_sealed) poke<word>(data_ - header_bytes, sealed(stride | flags));
    else poke<word>(data_ - header_bytes, stride | flags);
  }

  /// Effects: writes the header and the footer of a free block.
  ASHLAR_INLINE void set_free(std::size_t stride, std::size_t flags) noexcept {
    set_header(stride, flags | tlsf_header::free);
    poke<std::size_t>(data_ + stride - header_bytes - footer_bytes, stride);
  }

  /// Effects: records whether the block in front is free.
  ASHLAR_INLINE void set_behind_free(bool is) noexcept {
    if constexpr (is_sealed) return change_behind_free(is);
    const tlsf_header h = header();
    set_header(h.stride(),
               (h.bits() & (tlsf_header::flags & ~tlsf_header::previous_free)) | (is ? tlsf_header::previous_free : 0));
  }

  /// Effects: invalidates the header. None at level `fast`.
  ASHLAR_INLINE void forget_header() noexcept {
    if constexpr (is_sealed) poke<word>(data_ - header_bytes, 0);
  }

  [[nodiscard]] ASHLAR_INLINE tlsf_block behind(std::size_t stride) const noexcept {
    return tlsf_block(data_ + stride);
  }
  /// Returns: the stride of the block in front. Expects: it is free.
  [[nodiscard]] ASHLAR_INLINE std::size_t stride_in_front() const noexcept {
    return peek<std::size_t>(data_ - header_bytes - footer_bytes);
  }
  /// Expects: the block in front is free.
  [[nodiscard]] ASHLAR_INLINE tlsf_block in_front() const noexcept { return tlsf_block(data_ - stride_in_front()); }

  [[nodiscard]] ASHLAR_INLINE std::byte* next() const noexcept { return peek<std::byte*>(data_); }
  [[nodiscard]] ASHLAR_INLINE std::byte* previous() const noexcept { return peek<std::byte*>(data_ + sizeof(void*)); }
  ASHLAR_INLINE void set_next(std::byte* to) noexcept { poke<std::byte*>(data_, to); }
  ASHLAR_INLINE void set_previous(std::byte* to) noexcept { poke<std::byte*>(data_ + sizeof(void*), to); }

private:
  static constexpr unsigned sum_bits = 24;
  static constexpr std::uint64_t low_bits = (std::uint64_t{1} << (64 - sum_bits)) - 1;

  static constexpr std::uint64_t in_sum = low_bits & ~std::uint64_t{tlsf_header::free | tlsf_header::previous_free};

  // The bits that the flag `previous_free` changes: itself and one bit of the sum. So a change of the flag needs no new
  // sum, and an overwritten header stays unsound.
  static constexpr std::uint64_t behind_free_bits = std::uint64_t{1} << 63 | tlsf_header::previous_free;
  static_assert(tlsf_header::free == 1 && tlsf_header::previous_free == 2,
                "the lowest bits, which are shifted to the sum");

  // The upper bits of a product depend on all bits of its factors. The two lowest flags are added after it.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t sum_of(std::uint64_t bits) const noexcept {
    return ((bits & in_sum) ^ (std::uint64_t{address_of(data_)} << 20)) * 0x9E3779B97F4A7C15u ^ bits << 62;
  }

  [[nodiscard]] ASHLAR_INLINE std::uint64_t sealed(std::uint64_t bits) const noexcept {
    return bits | (sum_of(bits) & ~low_bits);
  }

  ASHLAR_INLINE void change_behind_free(bool is) noexcept {
    const word read = peek<word>(data_ - header_bytes);
    if (((read & tlsf_header::previous_free) != 0) != is) poke<word>(data_ - header_bytes, read ^ behind_free_bits);
  }

  template <class T>
  [[nodiscard]] static ASHLAR_INLINE T peek(const std::byte* at) noexcept {
    T value;
    mark_readable(at, sizeof value);
    std::memcpy(&value, at, sizeof value);
    mark_free(at, sizeof value);
    return value;
  }

  template <class T>
  static ASHLAR_INLINE void poke(std::byte* at, T value) noexcept {
    mark_readable(at, sizeof value);
    std::memcpy(at, &value, sizeof value);
    mark_free(at, sizeof value);
  }

  std::byte* data_;
};

/// Free blocks as members of a `tlsf_index`: the links lie in the blocks.
struct tlsf_linked_blocks {
  using link = std::byte*;
  static constexpr link none = nullptr;

  [[nodiscard]] static ASHLAR_INLINE link next(link at) noexcept { return tlsf_block(at).next(); }
  [[nodiscard]] static ASHLAR_INLINE link previous(link at) noexcept { return tlsf_block(at).previous(); }
  [[nodiscard]] static ASHLAR_INLINE std::size_t size(link at) noexcept { return tlsf_block(at).header().stride(); }
  static ASHLAR_INLINE void set_next(link at, link to) noexcept { tlsf_block(at).set_next(to); }
  static ASHLAR_INLINE void set_previous(link at, link to) noexcept { tlsf_block(at).set_previous(to); }
};

}  // namespace ashlar::ASHLAR_ABI::detail
