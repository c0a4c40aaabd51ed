// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A region of memory cut into blocks with boundary tags; its record lies in front of the first block.
#pragma once

#include <cstddef>
#include <new>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/tlsf/tlsf_block.hpp>
#include <ashlar/detail/tlsf/tlsf_poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

///       memory, as allocated
///       | pad | record | header | first block ... | header | ... | end mark: a header of stride 0 | pad |
///
/// Blocks lie one after another without gaps, and no two neighbours are free.
struct tlsf_region : tree_node<tlsf_region> {
  block memory;        ///< as allocated
  std::byte* end;      ///< the data address of the end mark
  bool goes_upstream;  ///< false: the memory is the caller's

  /// Returns: the largest number of bytes outside of blocks, for memory of any alignment.
  [[nodiscard]] static constexpr std::size_t overhead() noexcept {
    return sizeof(tlsf_region) + 2 * tlsf_block::header_bytes + 2 * tlsf_block::granule;
  }

  /// Effects: makes one free block of `memory`, of at most `most` bytes. Returns: the record, or null if there is no
  /// room for a block.
  [[nodiscard]] static tlsf_region* make(const block& memory, std::size_t most, bool goes_upstream) noexcept {
    auto* const begin = static_cast<std::byte*>(memory.data);
    if (memory.size < overhead() + tlsf_block::least) return nullptr;
    std::byte* const data = align_up(begin + sizeof(tlsf_region) + tlsf_block::header_bytes, tlsf_block::granule);
    const auto room = static_cast<std::size_t>(align_down(begin + memory.size, tlsf_block::granule) - data);
    const std::size_t stride = room < most ? room : align_down(most, tlsf_block::granule);
    void* const place = data - tlsf_block::header_bytes - sizeof(tlsf_region);
    auto* const made = ::new (place) tlsf_region{{}, memory, data + stride, goes_upstream};
    made->make_empty();
    return made;
  }

  /// Effects: makes one free block of the whole region.
  void make_empty() noexcept {
    mark_free(first().data() - tlsf_block::header_bytes, capacity() + tlsf_block::header_bytes);
    first().set_free(capacity(), tlsf_header::first);
    tlsf_poison::of_region(first(), capacity()).keep_in(first(), capacity());
    tlsf_block(end).set_header(0, tlsf_header::previous_free);
  }

  /// Returns: the region of a first block.
  [[nodiscard]] static tlsf_region* of_first(const tlsf_block& first) noexcept {
    void* const place = first.data() - tlsf_block::header_bytes - sizeof(tlsf_region);
    return std::launder(static_cast<tlsf_region*>(place));
  }

  [[nodiscard]] tlsf_block first() noexcept {
    return tlsf_block(static_cast<std::byte*>(static_cast<void*>(this)) + sizeof(tlsf_region) +
                      tlsf_block::header_bytes);
  }
  [[nodiscard]] const std::byte* first_data() const noexcept {
    return static_cast<const std::byte*>(static_cast<const void*>(this)) + sizeof(tlsf_region) +
           tlsf_block::header_bytes;
  }

  /// Returns: bytes of all blocks, headers included.
  [[nodiscard]] std::size_t capacity() const noexcept { return static_cast<std::size_t>(end - first_data()); }

  /// Returns: whether `p` is a possible data address of a block.
  [[nodiscard]] bool holds(const void* p) const noexcept {
    return address_of(p) - address_of(first_data()) < capacity() - tlsf_block::header_bytes;
  }

  [[nodiscard]] bool is_empty() noexcept {
    const tlsf_header h = first().header();
    return h.is_free() && h.stride() == capacity();
  }

  /// Effects: invalidates all headers, so that no stale pointer finds one.
  void forget_headers() noexcept {
    for (tlsf_block at = first(); at.data() != end && at.is_sound();) {
      const tlsf_block behind = at.behind(at.header().stride());
      at.forget_header();
      at = behind;
    }
  }

  /// Effects: calls `f(block, header)` for each block in the order of addresses, while `f` returns true and headers are
  /// sound.
  template <class F>
  void walk(F f) noexcept {
    for (tlsf_block at = first(); at.data() != end;) {
      const tlsf_header h = at.header();
      if (!at.is_sound() || h.is_end() || !f(at, h)) return;
      at = at.behind(h.stride());
    }
  }
};

static_assert(sizeof(tlsf_region) % sizeof(void*) == 0 && alignof(tlsf_region) <= sizeof(void*));

}  // namespace ashlar::ASHLAR_ABI::detail
