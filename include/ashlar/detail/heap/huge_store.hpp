// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The blocks of a heap that are larger than a segment: extents of the upstream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/purge.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A huge block starts at a window (4 MiB); by that alignment its address differs from all others.
///
/// A freed block stays spare, with its pages unless it has `spare_guards`, for the next one, which takes it unchanged,
/// cut or grown: as long as `huge_retention` allows. An epoch ends with the next free. All spare blocks go back before
/// the upstream or the limit refuses a request. Thread safety: none, or a lock of the caller, which the calls of the
/// upstream are made without.
template <resource Upstream>
class huge_store {
public:
  /// `heap`: named in reports.
  explicit constexpr huge_store(extent_map<Upstream>& space, std::size_t retain_bytes = std::size_t{16} << 20,
                                std::uint32_t decay_ms = 0, const void* heap = nullptr) noexcept
      : space_(space), retention_(retain_bytes, decay_ms), heap_(heap) {}

  /// Effects: changes what stays spare.
  void set_retention(std::size_t retain_bytes, std::uint32_t decay_ms) noexcept {
    retention_.set(retain_bytes, decay_ms);
  }

  /// Returns: whole pages for one block, or null.
  [[nodiscard]] ASHLAR_COLD_FOR_SPEED slice_run take(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t whole = pages_of(bytes), aligned = detail::max(alignment, window_bytes);
    if (whole == 0 || aligned > max_block_bytes - whole) return {};
    if (std::byte* const spare = space_.take_spare(whole, aligned)) {
      const std::size_t held = space_.find(spare)->bytes();
      if (!spares_are_zero) reused_bytes_ += held;
      return {add(spare, held), spares_are_zero};
    }
    std::byte* const p = space_.take(whole, aligned, false);
    return p != nullptr ? slice_run{add(p, whole), page_discard<Upstream>::gives_zeroes} : slice_run{};
  }

  /// Effects: frees a huge block. Expects: `p` is its start, which is verified at every level.
  ASHLAR_COLD void give(void* p) noexcept {
    const window* const found = space_.find(p);
    if (found == nullptr || found->start != p || found->is_segment())
      refuse(p, fault::invalid_free, "freed a pointer that is not of this heap");
    if (space_.is_spare(p)) refuse(p, fault::double_free, "freed a block that is free");
    --count_;
    bytes_ -= found->bytes();
    space_.keep(p);
    space_.give_spares(retention_.most(bytes_));
    age();
  }

  /// Returns: whether the block has room for `wanted` bytes now, in place, and at most a third more. It grows if the
  /// upstream has room after it, and gives its tail back when it shrinks.
  [[nodiscard]] ASHLAR_COLD_FOR_SPEED bool resize(void* p, std::size_t wanted) noexcept {
    const std::size_t held = space_.find(p)->bytes(), whole = pages_of(wanted);
    if (whole == 0) return false;
    if (whole <= held && whole >= held - held / 4) return true;
    if (!space_.resize(p, whole)) return false;
    add_bytes(whole - held);
    return true;
  }

  /// Returns: a block of `wanted` bytes with the contents of the one at `p`, moved by its pages without a copy; or null
  /// if the upstream cannot move pages or memory has run out, and `p` is unchanged. Expects: the block is smaller.
  [[nodiscard]] ASHLAR_COLD_FOR_SPEED void* reallocate(void* p, std::size_t wanted, std::size_t alignment) noexcept {
    const std::size_t held = space_.find(p)->bytes(), whole = pages_of(wanted);
    const std::size_t aligned = detail::max(alignment, window_bytes);
    if (whole < held || aligned > max_block_bytes - whole) return nullptr;
    std::byte* const moved = space_.move(p, whole, aligned);
    if (moved != nullptr) add_bytes(whole - held);
    return moved;
  }

  /// Effects: gives spare blocks back down to `keep` bytes. Returns: bytes given back.
  std::size_t trim(std::size_t keep) noexcept { return space_.give_spares(keep); }

  /// Effects: ends an epoch that has lasted long enough: gives back the blocks that were spare during all of it.
  void age() noexcept {
    if (retention_.ends_epoch(bytes_)) space_.age_spares();
  }

  /// Effects: calls `f(p, bytes)` for each block, in no order.
  template <class F>
  ASHLAR_INLINE void for_each(F f) const {
    space_.for_each([&](const window& each) {
      if (!each.is_segment() && !space_.is_spare(each.start)) f(each.start, each.bytes());
    });
  }

  /// Effects: forgets all blocks. Expects: the extent map forgets them too.
  void clear() noexcept {
    count_ = bytes_ = 0;
    retention_.clear();
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Returns: bytes reused since the heap was made, without a new mapping.
  [[nodiscard]] std::uint64_t reused_bytes() const noexcept { return reused_bytes_; }

  /// Complexity: O(windows).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t count = 0, bytes = 0;
    for_each([&](std::byte*, std::size_t size) { ++count, bytes += size; });
    return count == count_ && bytes == bytes_;
  }

private:
  static constexpr bool spares_are_zero = extent_map<Upstream>::guards::are_kept;  // without their pages
  static constexpr std::size_t step = 4096;  // the upstream rounds up to its own pages if they are larger

  // Returns: bytes rounded up to whole pages; 0 for impossible sizes.
  [[nodiscard]] static constexpr std::size_t pages_of(std::size_t bytes) noexcept {
    return bytes <= max_block_bytes - window_bytes ? align_up(detail::max<std::size_t>(bytes, 1), step) : 0;
  }

  [[nodiscard]] std::byte* add(std::byte* p, std::size_t held) noexcept {
    ++count_;
    add_bytes(held);
    return p;
  }

  void add_bytes(std::size_t more) noexcept {
    bytes_ += more;
    retention_.count(bytes_);
  }

  [[noreturn]] ASHLAR_COLD void refuse(const void* p, fault kind, const char* what) const noexcept {
    report({.kind = kind, .what = what, .pointer = p, .resource = heap_});
  }

  extent_map<Upstream>& space_;
  huge_retention retention_;
  const void* heap_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t reused_bytes_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
