// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions of memory and the index of their free blocks: allocation in constant time, without an upstream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/tlsf_scale.hpp>
#include <ashlar/detail/tlsf/tlsf_block.hpp>
#include <ashlar/detail/tlsf/tlsf_check.hpp>
#include <ashlar/detail/tlsf/tlsf_index.hpp>
#include <ashlar/detail/tlsf/tlsf_poison.hpp>
#include <ashlar/detail/tlsf/tlsf_region.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Allocation is good fit: the most recently freed block of the request's bin if it is large enough, otherwise one from
/// the smallest bin with only blocks large enough. The rest after the block is cut off. A freed block merges with its
/// free neighbours at once.
///
/// Invariant: no two neighbours are free; the index holds exactly the free blocks; `used()` is the sum of the strides
/// of the others. Complexity: O(1) at level `fast`; O(log regions) more from `checked` on. Thread safety: none.
template <class Scale>
class tlsf_space {
public:
  using block_type = tlsf_block;
  using region_type = tlsf_region;
  using slack = tlsf_slack;

  static_assert(!tlsf_block::is_sealed || Scale::most < (std::uint64_t{1} << 40), "a header has 40 bits for a stride");

  /// bytes: the largest stride of a block, and of all blocks of a region
  static constexpr std::size_t most = static_cast<std::size_t>(Scale::most) & ~(tlsf_block::granule - 1);

  /// bytes: a larger request always fails
  static constexpr std::size_t most_room = most - tlsf_block::header_bytes - tlsf_block::granule;

  /// Effects: takes over an empty region.
  void add(tlsf_region* region) noexcept {
    regions_.insert(region);
    capacity_ += region->capacity();
    index_.insert(links_, region->first().data(), region->capacity());
    lent_ += region->goes_upstream ? 1 : 0;
    empty_ += region->goes_upstream ? 1 : 0;
  }

  /// Expects: the region is empty, and part of this space.
  void remove(tlsf_region* region) noexcept {
    index_.remove(links_, region->first().data(), region->capacity());
    regions_.erase(region);
    capacity_ -= region->capacity();
    lent_ -= region->goes_upstream ? 1 : 0;
    empty_ -= region->goes_upstream ? 1 : 0;
  }

  /// Effects: removes all regions.
  void clear() noexcept {
    index_.clear();
    regions_.clear();
    capacity_ = used_ = lent_ = empty_ = 0;
  }

  /// Returns: a block with room for `bytes`, or null. Expects: `alignment` is a power of two.
  [[nodiscard]] std::byte* take(std::size_t bytes, std::size_t alignment, const void* who) noexcept {
    if (ASHLAR_UNLIKELY(bytes > most_room)) return nullptr;
    const std::size_t stride = tlsf_block::stride_for(bytes);
    std::byte* const found = alignment <= tlsf_block::granule ? find(stride) : find_aligned(stride, alignment);
    if (ASHLAR_UNLIKELY(found == nullptr)) return nullptr;
    if constexpr (tlsf_block::is_sealed) check_member(found, site(who));
    tlsf_block block(found);
    const tlsf_header h = block.header();
    if constexpr (keeps_canaries) verify_start(block, h.stride(), gap_before(found, alignment), stride, who);
    if (ASHLAR_UNLIKELY(h.is_first())) leave_emptiness(block, h);
    index_.remove(links_, found, h.stride());
    const std::size_t gap = gap_before(found, alignment);
    tlsf_poison poison;
    poison.add_block(block, h.stride());
    if (gap == 0) return occupy(block, h.stride(), h.bits() & tlsf_header::first, stride, true, poison);
    set_free(block, gap, h.bits() & tlsf_header::first, poison);
    return occupy(block.behind(gap), h.stride() - gap, tlsf_header::previous_free, stride, true, poison);
  }

  /// Returns: the region that has become empty, or null. Expects: `p` is the data of a live block.
  tlsf_region* give(void* p) noexcept {
    tlsf_block block(static_cast<std::byte*>(p));
    const tlsf_header h = block.header();
    std::size_t stride = h.stride();
    std::size_t flags = h.bits() & tlsf_header::first;
    used_ -= stride;
    tlsf_block behind = block.behind(stride);
    auto poison = tlsf_poison::of_freed(block.data(), behind.data() - tlsf_block::header_bytes);
    if (const tlsf_header next = behind.header(); next.is_free()) {
      swallow(behind, next.stride(), poison);
      stride += next.stride();
      behind = block.behind(stride);
    }
    if (h.is_behind_free()) {
      tlsf_block front = block.in_front();
      const tlsf_header before = front.header();
      index_.remove(links_, front.data(), before.stride());
      block.forget_header();
      poison.add_block(front, before.stride());
      tlsf_poison::poison_seam(block);
      stride += before.stride();
      flags = before.bits() & tlsf_header::first;
      block = front;
    }
    set_free(block, stride, flags, poison);
    behind.set_behind_free(true);
    return flags != 0 ? enter_emptiness(block, behind) : nullptr;
  }

  /// Effects: resizes a live block in place to the smallest size for `bytes`. Returns: false if that is impossible;
  /// then nothing has changed.
  [[nodiscard]] bool resize(void* p, std::size_t bytes) noexcept {
    if (bytes > most_room) return false;
    tlsf_block block(static_cast<std::byte*>(p));
    const tlsf_header h = block.header();
    tlsf_block behind = block.behind(h.stride());
    const tlsf_header next = behind.header();
    const std::size_t stride = tlsf_block::stride_for(bytes);
    const std::size_t all = h.stride() + (next.is_free() ? next.stride() : 0);
    if (stride > all) return false;
    if (stride == h.stride()) return true;
    tlsf_poison poison;
    if (stride < h.stride()) poison = poison_end(block, h.stride(), stride);
    if (next.is_free()) swallow(behind, next.stride(), poison);
    used_ -= h.stride();
    occupy(block, all, h.bits() & (tlsf_header::first | tlsf_header::previous_free), stride, next.is_free(), poison);
    return true;
  }

  /// Effects: reports writes to the free block after a live one, in the bytes that the growth would take.
  static void verify_growth(void* p, std::size_t bytes, const void* who) noexcept {
    const tlsf_block block(static_cast<std::byte*>(p));
    const std::size_t has = block.header().stride(), wanted = tlsf_block::stride_for(bytes);
    const tlsf_block behind = block.behind(has);
    if (wanted > has && behind.header().is_free()) verify_start(behind, behind.header().stride(), 0, wanted - has, who);
  }

  /// Returns: the usable bytes at `p`. Expects: `p` is the data of a live block.
  [[nodiscard]] static std::size_t room_of(void* p) noexcept {
    return tlsf_block(static_cast<std::byte*>(p)).header().stride() - tlsf_block::header_bytes;
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }  ///< bytes of all blocks
  [[nodiscard]] std::size_t used() const noexcept { return used_; }          ///< bytes of live blocks, headers included
  [[nodiscard]] std::size_t lent() const noexcept { return lent_; }          ///< regions that go upstream
  [[nodiscard]] std::size_t empty() const noexcept { return empty_; }        ///< regions without a live block

  /// Returns: the largest request, in bytes, that is sure to be served, for alignments up to a granule.
  [[nodiscard]] std::size_t largest_free() const noexcept {
    std::byte* const largest = index_.largest();
    return largest != nullptr ? std::min(links_.size(largest) - tlsf_block::header_bytes, most_room) : 0;
  }

  [[nodiscard]] const tlsf_regions& regions() const noexcept { return regions_; }
  [[nodiscard]] tlsf_site site(const void* who) const noexcept { return {regions_, who}; }

  [[nodiscard]] bool invariant() const noexcept {
    std::size_t free_blocks = 0, live_bytes = 0, all_bytes = 0, empty_regions = 0, lent_regions = 0;
    bool holds = regions_.invariant() && index_.invariant(links_);
    regions_.for_each([&](tlsf_region& region) {
      std::size_t walked = 0;
      bool front_is_free = false;
      region.walk([&](const tlsf_block& block, tlsf_header h) {
        const bool is_tagged = !h.is_free() || block.behind(h.stride()).stride_in_front() == h.stride();
        const bool is_poisoned = !h.is_free() || tlsf_poison::is_intact(block, h.stride());
        holds = holds && is_tagged && is_poisoned && h.stride() >= tlsf_block::least && h.is_first() == (walked == 0) &&
                h.is_behind_free() == front_is_free && !(h.is_free() && front_is_free);
        walked += h.stride();
        front_is_free = h.is_free();
        (h.is_free() ? free_blocks : live_bytes) += h.is_free() ? 1 : h.stride();
        return true;
      });
      const tlsf_header end = tlsf_block(region.end).header();
      holds = holds && walked == region.capacity() && end.is_end() && end.is_behind_free() == front_is_free;
      all_bytes += walked;
      if (!region.goes_upstream) return;
      ++lent_regions;
      if (region.is_empty()) ++empty_regions;
    });
    return holds && free_blocks == index_.count(links_) && live_bytes == used_ && all_bytes == capacity_ &&
           lent_regions == lent_ && empty_regions == empty_;
  }

private:
  using index = tlsf_index<Scale, tlsf_linked_blocks>;

  [[nodiscard]] std::byte* find(std::size_t stride) const noexcept {
    return index_.find(stride, stride, [stride](std::byte* at) { return tlsf_linked_blocks::size(at) >= stride; });
  }

  [[nodiscard]] std::byte* find_aligned(std::size_t stride, std::size_t alignment) const noexcept {
    const std::size_t extra = alignment + tlsf_block::least - tlsf_block::granule;
    if (alignment > most || extra > most - stride) return nullptr;
    return index_.find(stride, stride + extra, [stride, alignment](std::byte* at) {
      return tlsf_linked_blocks::size(at) >= stride + gap_before(at, alignment);
    });
  }

  // The bytes skipped to reach an aligned address: 0, or at least one block.
  [[nodiscard]] static ASHLAR_INLINE std::size_t gap_before(std::byte* at, std::size_t alignment) noexcept {
    const std::size_t gap = (0 - address_of(at)) & (alignment - 1);
    return gap == 0 || gap >= tlsf_block::least ? gap : gap + alignment;
  }

  // Makes a live block of `all` bytes, and cuts off the part it does not need.
  ASHLAR_INLINE std::byte* occupy(tlsf_block block, std::size_t all, std::size_t flags, std::size_t stride,
                                  bool was_free_at_end, const tlsf_poison& poison) noexcept {
    const bool is_cut = all - stride >= tlsf_block::least;
    if (is_cut) set_free(block.behind(stride), all - stride, 0, poison);
    if (is_cut != was_free_at_end) block.behind(all).set_behind_free(is_cut);
    const std::size_t taken = is_cut ? stride : all;
    block.set_header(taken, flags);
    used_ += taken;
    return block.data();
  }

  ASHLAR_INLINE void set_free(tlsf_block block, std::size_t stride, std::size_t flags,
                              const tlsf_poison& poison) noexcept {
    block.set_free(stride, flags);
    index_.insert(links_, block.data(), stride);
    poison.keep_in(block, stride);
  }

  // Merges a free block with the one in front.
  ASHLAR_INLINE void swallow(tlsf_block block, std::size_t stride, tlsf_poison& poison) noexcept {
    index_.remove(links_, block.data(), stride);
    block.forget_header();
    poison.add_block(block, stride);
    tlsf_poison::poison_start(block);
  }

  // Verifies the part of a free block that becomes data, `taken` bytes after a gap, and the part that metadata will
  // overwrite.
  static ASHLAR_INLINE void verify_start(tlsf_block block, std::size_t stride, std::size_t gap, std::size_t taken,
                                         const void* who) noexcept {
    constexpr std::size_t in_front = tlsf_block::header_bytes + tlsf_block::footer_bytes;
    std::byte* const data = block.data() + gap;
    tlsf_poison::verify_part(block, stride, data - in_front, data + taken + tlsf_poison::start_bytes, who);
  }

  // Poisons the part of a live block beyond `stride` bytes, of `all`.
  [[nodiscard]] static ASHLAR_INLINE tlsf_poison poison_end(tlsf_block block, std::size_t all,
                                                            std::size_t stride) noexcept {
    std::byte* const data = block.data() - tlsf_block::header_bytes;
    return tlsf_poison::of_freed(data + stride, data + all);
  }

  void leave_emptiness(const tlsf_block& first, tlsf_header h) noexcept {
    if (first.behind(h.stride()).header().is_end() && tlsf_region::of_first(first)->goes_upstream) --empty_;
  }

  [[nodiscard]] tlsf_region* enter_emptiness(const tlsf_block& first, const tlsf_block& behind) noexcept {
    if (!behind.header().is_end()) return nullptr;
    tlsf_region* const region = tlsf_region::of_first(first);
    empty_ += region->goes_upstream ? 1 : 0;
    return region;
  }

  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
  std::size_t lent_ = 0;
  std::size_t empty_ = 0;
  tlsf_regions regions_;
  ASHLAR_NO_UNIQUE_ADDRESS tlsf_linked_blocks links_;
  index index_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
