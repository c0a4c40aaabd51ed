// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a heap checks before it takes a block back, at the levels that check.
#pragma once

#include <algorithm>
#include <cstddef>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/heap/segment_store.hpp>
#include <ashlar/part/segment.hpp>
#include <ashlar/part/window_map.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Looks at a block before it is freed; ends the process where it is none. Nothing of `p` itself is read, so it may
/// point anywhere. Complexity: O(1) expected.
template <resource Upstream>
class block_check {
public:
  block_check(const segment_store<Upstream>& segments, const void* heap, const void* pocket) noexcept
      : segments_(segments), heap_(heap), pocket_(pocket) {}

  /// Returns: the bytes of the live block at `p`. Effects: reports where there is none.
  [[nodiscard]] std::size_t size_of(void* p) const noexcept {
    const window* const found = segments_.find(p);
    if (found == nullptr) report_at(p, fault::invalid_free, "freed a pointer that is not of this heap");
    if (!found->is_segment()) return size_of_huge(p, *found);
    if (segment::slice_of(p) < first_slice)
      report_at(p, fault::invalid_free, "freed a pointer into what the heap keeps for itself");
    if (!segments_.is_taken(p)) report_at(p, fault::double_free, "freed a block that is free");
    return segment::owner_of(p) != size_classes::none ? size_of_cell(p) : size_of_run(p);
  }

  /// Effects: reports a block that was not allocated as `bytes` bytes, of which `number` is the class.
  ASHLAR_NOINLINE void expect_size(void* p, std::size_t bytes, std::size_t number) const noexcept {
    const std::size_t held = size_of(p);
    if (ASHLAR_LIKELY(is_size_of(p, held, bytes, number))) return;
    report({.kind = fault::size_mismatch,
            .what = "freed a block with another size than it was allocated with",
            .pointer = p,
            .resource = heap_,
            .size = held,
            .expected = held,
            .got = bytes});
  }

  /// Effects: reports a free cell that was written to, before what stands in it is taken for an address. `link` is what
  /// stands there, null or another free cell of the class; it is not read.
  ASHLAR_NOINLINE void expect_link(void* link, std::size_t number) const noexcept {
    if (link == nullptr) return;
    const window* const found = segments_.find(link);
    if (found != nullptr && found->is_segment() && segments_.is_taken(link) && segment::owner_of(link) == number &&
        segment::slab_of(link).is_cell(link) && !slab_cells(segment::slab_of(link)).is_live(link))
      return;
    report({.kind = fault::corrupt_link,
            .what = "a free block was written to",
            .pointer = link,
            .resource = heap_,
            .size = size_classes::bytes_of(number)});
  }

private:
  [[nodiscard]] static bool is_size_of(void* p, std::size_t held, std::size_t bytes, std::size_t number) noexcept {
    if (is_aligned(p, window_bytes)) return number == size_classes::none && bytes <= held;
    if (segment::owner_of(p) != size_classes::none) return segment::owner_of(p) == number;
    return number == size_classes::none && slices_of(bytes) * slice_bytes == held;
  }

  [[nodiscard]] std::size_t size_of_huge(const void* p, const window& found) const noexcept {
    if (p != found.start) report_at(p, fault::misaligned_free, "freed a pointer into the middle of a block");
    return found.bytes();
  }

  [[nodiscard]] std::size_t size_of_cell(void* p) const noexcept {
    run_record& slab = segment::slab_of(p);
    if (!slab.is_cell(p)) report_at(p, fault::misaligned_free, "freed a pointer into the middle of a block");
    if (!slab_cells(slab).is_live(p)) report_at(p, fault::double_free, "freed a block that is free");
    return slab.cell_bytes;
  }

  [[nodiscard]] std::size_t size_of_run(void* p) const noexcept {
    const std::size_t slice = segment::slice_of(p);
    const run_record& run = segment::of(p)->record(slice);
    if (run.first != slice || !is_aligned(p, slice_bytes))
      report_at(p, fault::misaligned_free, "freed a pointer into the middle of a block");
    if (p == pocket_ || run.is_shelved) report_at(p, fault::double_free, "freed a block that is free");
    return run.length * slice_bytes;
  }

  [[noreturn]] ASHLAR_COLD void report_at(const void* p, fault kind, const char* what) const noexcept {
    report({.kind = kind, .what = what, .pointer = p, .resource = heap_});
  }

  const segment_store<Upstream>& segments_;
  const void* heap_;
  const void* pocket_;
};

}  // namespace ashlar::inline ASHLAR_ABI
