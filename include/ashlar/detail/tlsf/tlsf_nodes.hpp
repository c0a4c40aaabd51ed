// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The records of blocks in memory that must not be written: numbered, in chunks of an upstream that never move.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

enum class tlsf_node_state : std::uint32_t { spare, free, live };

/// One block of a range: 28 bytes for 32-bit offsets, 40 for 64-bit ones.
template <std::unsigned_integral Offset>
struct tlsf_node {
  Offset offset;
  Offset size;
  std::uint32_t next;      ///< of the bin's free list, or of the spare records
  std::uint32_t previous;  ///< of the bin's free list
  std::uint32_t front;     ///< the neighbour in front in the range
  std::uint32_t behind;    ///< the neighbour after
  tlsf_node_state state;
};

/// Numbered records. Chunks double: 64, 128, 256 … records; adding a chunk moves no record.
///
///       chunks_[0] -> | 0 .. 63 |    chunks_[1] -> | 64 .. 191 |    chunks_[2] -> | 192 .. 447 |
///
/// Complexity: all O(1), and one upstream call for each chunk added. Thread safety: none.
template <std::unsigned_integral Offset, resource Upstream>
class tlsf_nodes_in_chunks {
public:
  using node = tlsf_node<Offset>;
  using link = std::uint32_t;
  static constexpr link none = ~link{0};

  tlsf_nodes_in_chunks(std::size_t most, Upstream upstream)
      : upstream_(std::move(upstream)), most_(std::min(most, capacity_of(chunk_count))) {}
  tlsf_nodes_in_chunks(const tlsf_nodes_in_chunks&) = delete;
  tlsf_nodes_in_chunks& operator=(const tlsf_nodes_in_chunks&) = delete;
  ~tlsf_nodes_in_chunks() { release(); }

  [[nodiscard]] ASHLAR_INLINE node& at(link i) noexcept { return *place_of(i); }
  [[nodiscard]] ASHLAR_INLINE const node& at(link i) const noexcept { return *place_of(i); }
  /// Returns: whether record `i` exists, in use or spare.
  [[nodiscard]] bool has(link i) const noexcept { return i < made_; }

  /// Returns: whether `count` records can be made without the upstream.
  [[nodiscard]] bool try_ensure(std::size_t count) noexcept {
    while (ready() < count)
      if (capacity_ == most_ || !add(try_allocate_from(upstream_, bytes_of_next(), alignof(node)))) return false;
    return true;
  }

  /// As `try_ensure`; once `most` is reached there are fewer. Throws: the exceptions of the upstream.
  void ensure(std::size_t count) {
    while (ready() < count && capacity_ != most_)
      static_cast<void>(add(upstream_.allocate(bytes_of_next(), alignof(node))));
  }

  /// Returns: a record. Expects: `ready() != 0`.
  [[nodiscard]] link make(const node& as) noexcept {
    link i = spare_;
    if (i != none) {
      spare_ = at(i).next;
      --spares_;
      at(i) = as;
    } else {
      i = made_++;
      ::new (static_cast<void*>(place_of(i))) node(as);
    }
    return i;
  }

  void drop(link i) noexcept {
    at(i).state = tlsf_node_state::spare;
    at(i).next = std::exchange(spare_, i);
    ++spares_;
  }

  /// Effects: removes all records and frees the chunks.
  void release() noexcept {
    while (chunks_made_ != 0) {
      --chunks_made_;
      capacity_ = capacity_of(chunks_made_);
      upstream_.deallocate(chunks_[chunks_made_], bytes_of_next(), alignof(node));
    }
    made_ = 0, spare_ = none, spares_ = 0;
  }

  [[nodiscard]] std::size_t ready() const noexcept {
    return spares_ + (capacity_ - made_);
  }  ///< records that can be made
  [[nodiscard]] std::size_t in_use() const noexcept { return made_ - spares_; }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return capacity_ * sizeof(node); }  ///< of all chunks
  [[nodiscard]] Upstream& upstream_resource() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return upstream_; }

  // As members of a tlsf_index.
  [[nodiscard]] link next(link i) const noexcept { return at(i).next; }
  [[nodiscard]] link previous(link i) const noexcept { return at(i).previous; }
  [[nodiscard]] std::uint64_t size(link i) const noexcept { return at(i).size; }
  void set_next(link i, link to) noexcept { at(i).next = to; }
  void set_previous(link i, link to) noexcept { at(i).previous = to; }

private:
  static constexpr unsigned first_bits = 6;
  static constexpr unsigned chunk_count = sizeof(std::size_t) == 8 ? 26 : 20;  // fewer than 2^32 records, or bytes

  [[nodiscard]] static constexpr std::size_t capacity_of(unsigned chunks) noexcept {
    return ((std::size_t{1} << chunks) - 1) << first_bits;
  }

  [[nodiscard]] ASHLAR_INLINE node* place_of(link i) const noexcept {
    const auto chunk = static_cast<unsigned>(std::bit_width((i >> first_bits) + 1)) - 1;
    return chunks_[chunk] + (i - capacity_of(chunk));
  }

  // The last chunk is cut at the limit of records.
  [[nodiscard]] std::size_t bytes_of_next() const noexcept {
    return (std::min(capacity_of(chunks_made_ + 1), most_) - capacity_) * sizeof(node);
  }

  [[nodiscard]] bool add(void* memory) noexcept {
    if (memory == nullptr) return false;
    chunks_[chunks_made_++] = static_cast<node*>(memory);
    capacity_ = std::min(capacity_of(chunks_made_), most_);
    return true;
  }

  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
  std::size_t most_;
  std::size_t capacity_ = 0;
  std::size_t spares_ = 0;
  unsigned chunks_made_ = 0;
  link made_ = 0;
  link spare_ = none;
  std::array<node*, chunk_count> chunks_{};
};

}  // namespace ashlar::ASHLAR_ABI::detail
