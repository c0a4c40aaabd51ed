// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The regions of a tlsf_resource by address, and its checks before it trusts a pointer or a tag.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/tlsf/tlsf_block.hpp>
#include <ashlar/detail/tlsf/tlsf_poison.hpp>
#include <ashlar/detail/tlsf/tlsf_region.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The most recent region at each 32 KiB of addresses, modulo 4 MiB: a guess, which the region must confirm.
class tlsf_region_table {
public:
  void insert(tlsf_region* region) noexcept {
    const std::size_t first = address_of(region) / slot_bytes;
    const std::size_t count = (address_of(region->end) - 1) / slot_bytes - first + 1;
    for (std::size_t i = 0; i < std::min(count, regions_.size()); ++i) regions_[(first + i) % regions_.size()] = region;
  }
  void erase(const tlsf_region* region) noexcept {
    std::replace(regions_.begin(), regions_.end(), const_cast<tlsf_region*>(region),
                 static_cast<tlsf_region*>(nullptr));
  }
  void clear() noexcept { regions_.fill(nullptr); }

  /// Returns: a region that may contain `p`, or null.
  [[nodiscard]] ASHLAR_INLINE tlsf_region* guess(const void* p) const noexcept {
    return regions_[address_of(p) / slot_bytes % regions_.size()];
  }

private:
  static constexpr std::size_t slot_bytes = std::size_t{32} * 1024;

  std::array<tlsf_region*, 128> regions_{};
};

/// The regions of a tlsf_resource by address, with a table that speeds up the search at the levels that check.
/// Complexity: insert, erase and find O(log regions). Thread safety: none, but concurrent const calls are safe.
class tlsf_regions {
public:
  /// Expects: `region` is in no set.
  void insert(tlsf_region* region) noexcept {
    tree_.insert(region);
    if (table_) table_->insert(region);
  }

  /// Expects: `region` is in this set.
  void erase(tlsf_region* region) noexcept {
    tree_.erase(region);
    if (table_) table_->erase(region);
  }

  /// Effects: removes all regions.
  void clear() noexcept {
    tree_.clear();
    if (table_) table_->clear();
  }

  /// Returns: the region that contains `p`, or null.
  [[nodiscard]] ASHLAR_INLINE tlsf_region* find(const void* p) const noexcept {
    tlsf_region* const guessed = table_ ? table_->guess(p) : nullptr;
    return ASHLAR_LIKELY(guessed != nullptr && guessed->holds(p)) ? guessed : find_in_tree(p);
  }

  /// Effects: calls `f(region)` for each in the order of addresses. `f` may destroy the record.
  template <class F>
  void for_each(F f) const {
    tree_.for_each(f);
  }

  /// Complexity: O(regions).
  [[nodiscard]] bool invariant() const noexcept { return tree_.invariant(); }

private:
  [[nodiscard]] ASHLAR_NOINLINE tlsf_region* find_in_tree(const void* p) const noexcept {
    tlsf_region* const region = tree_.find_at_or_below(p);
    return region != nullptr && region->holds(p) ? region : nullptr;
  }

  address_tree<tlsf_region> tree_;
  ASHLAR_NO_UNIQUE_ADDRESS if_checked<tlsf_region_table> table_;
};

/// The context of a check: the regions, and the resource for reports.
struct tlsf_site {
  const tlsf_regions& regions;
  const void* resource;

  /// Returns: the region that contains `p`, or null. Complexity: O(log regions).
  [[nodiscard]] ASHLAR_INLINE tlsf_region* find(const void* p) const noexcept { return regions.find(p); }
};

[[noreturn]] ASHLAR_COLD inline void report_tlsf(fault kind, const char* what, const void* p, const tlsf_site& site,
                                                 std::size_t size = 0) noexcept {
  report(kind, what, p, site.resource, size);
}

/// Effects: reports the reason for the missing header in front of `p`; walks the region up to it. Complexity: O(blocks
/// of the region).
[[noreturn]] ASHLAR_COLD inline void report_no_header(std::byte* p, tlsf_region& region,
                                                      const tlsf_site& site) noexcept {
  tlsf_block last(nullptr);
  tlsf_header said(0);
  region.walk([&](const tlsf_block& each, tlsf_header h) {
    last = each, said = h;
    return address_of(each.data() + h.stride()) <= address_of(p);
  });
  if (last.data() == nullptr)
    report_tlsf(fault::underflow, "bytes before the first block of a region were written to", p, site);
  const std::size_t bytes = said.stride() - tlsf_block::header_bytes;
  const std::size_t into = static_cast<std::size_t>(p - last.data());
  if (into < said.stride() && said.is_free())
    report_tlsf(fault::double_free, "freed a block that is free and coalesced", p, site);
  if (into != 0 && into < said.stride())
    report_tlsf(fault::misaligned_free, "freed a pointer into the middle of a block", p, site, bytes);
  if (said.is_free())
    report_tlsf(fault::corrupt_link, "a free block was written to, and the header after it", last.data(), site);
  report_tlsf(fault::overflow, "bytes past the end of a block were written to, over the header of the next",
              last.data(), site, bytes);
}

// Returns: whether a link may be followed: it leads to a free block of the resource. At `checked` the other end of the
// link, which must lead back, replaces the check of the header's sum.
[[nodiscard]] ASHLAR_INLINE bool is_member(std::byte* at, const tlsf_site& site) noexcept {
  if (!is_aligned(at, tlsf_block::granule) || site.find(at) == nullptr) return false;
  if constexpr (checking_level >= checking::hardened)
    if (!tlsf_block(at).is_sound()) return false;
  return tlsf_block(at).header().is_free();
}

// Returns: whether both ends of both links of a free block agree. A link is checked before it is dereferenced.
[[nodiscard]] ASHLAR_INLINE bool are_links_sound(const tlsf_block& block, const tlsf_site& site) noexcept {
  std::byte* const next = block.next();
  if (next != nullptr && !(is_member(next, site) && tlsf_block(next).previous() == block.data())) return false;
  std::byte* const previous = block.previous();
  return previous == nullptr || (is_member(previous, site) && tlsf_block(previous).next() == block.data());
}

// Returns: whether a free block with a sound header has sound links, a sound footer, and the flag of the neighbour
// after it.
[[nodiscard]] ASHLAR_INLINE bool is_free_block_sound(const tlsf_block& block, const tlsf_site& site) noexcept {
  const std::size_t stride = block.header().stride();
  const tlsf_block behind = block.behind(stride);
  return behind.header().is_behind_free() && behind.stride_in_front() == stride && are_links_sound(block, site) &&
         tlsf_poison::is_record_sound(block, stride);
}

/// Effects: reports if `p`, which was a free block of the index, is none any more.
ASHLAR_INLINE void check_member(std::byte* p, const tlsf_site& site) noexcept {
  const tlsf_block block(p);
  if (ASHLAR_UNLIKELY(!block.is_sound() || !block.header().is_free() || !detail::is_free_block_sound(block, site)))
    report_tlsf(fault::corrupt_link, "a free block was written to", p, site);
}

/// Returns: the live block that starts at `p`. Effects: reports a pointer without one, or a broken tag beside it. `p`
/// is not dereferenced before it is known to lie in a region.
ASHLAR_INLINE tlsf_block check_live(void* p, const tlsf_site& site) noexcept {
  tlsf_region* const region = site.find(p);
  auto* const data = static_cast<std::byte*>(p);
  if (region == nullptr) report_tlsf(fault::invalid_free, "freed a pointer that is not of this resource", p, site);
  if (!is_aligned(p, tlsf_block::granule))
    report_tlsf(fault::misaligned_free, "freed a pointer into the middle of a block", p, site);
  const tlsf_block block(data);
  if (!block.is_sound()) report_no_header(data, *region, site);
  const tlsf_header h = block.header();
  if (h.is_end()) report_tlsf(fault::invalid_free, "freed a pointer that is not of this resource", p, site);
  if (h.is_free()) report_tlsf(fault::double_free, "freed a block that is free", p, site);
  const tlsf_block behind = block.behind(h.stride());
  if (!behind.is_sound()) report_no_header(behind.data(), *region, site);
  if (behind.header().is_free() && !detail::is_free_block_sound(behind, site))
    report_tlsf(fault::corrupt_link, "a free block was written to", behind.data(), site);
  if (h.is_behind_free()) {
    const std::size_t back = block.stride_in_front();
    const bool may_be =
        back <= static_cast<std::size_t>(data - region->first_data()) && back % tlsf_block::granule == 0;
    if (!may_be || tlsf_block(data - back).header().stride() != back)
      report_tlsf(fault::corrupt_link, "the free block before this one was written to", p, site);
    check_member(data - back, site);
    tlsf_poison::verify_small(tlsf_block(data - back), back, site.resource);
  }
  return block;
}

[[noreturn]] ASHLAR_COLD inline void report_tlsf_mismatch(const char* what, const tlsf_block& block,
                                                          const tlsf_site& site, std::size_t expected,
                                                          std::size_t got) noexcept {
  report({.kind = fault::size_mismatch,
          .what = what,
          .pointer = block.data(),
          .resource = site.resource,
          .expected = expected,
          .got = got,
          .block_bytes = block.header().stride() - tlsf_block::header_bytes});
}

inline constexpr const char* tlsf_other_size = "freed a block with another size than it was allocated with";

/// Effects: reports a size other than the allocation's, if it would give another stride.
inline void check_size(const tlsf_block& block, std::size_t bytes, const tlsf_site& site) noexcept {
  const std::size_t stride = block.header().stride();
  const std::size_t usable = stride - tlsf_block::header_bytes;
  if (bytes > usable || stride - tlsf_block::stride_for(bytes) >= tlsf_block::least)
    report_tlsf_mismatch(tlsf_other_size, block, site, 0, bytes);
}

/// Effects: reports an alignment that a live block does not have.
inline void check_alignment(const tlsf_block& block, std::size_t alignment, const tlsf_site& site) noexcept {
  if (is_aligned(block.data(), alignment)) return;
  const std::size_t has = largest_alignment_of(block.data());
  report_tlsf_mismatch("freed a block with an alignment that it does not have", block, site, has, alignment);
}

/// The bytes of a block after the size requested, at level `hardened`: at least one, with a canary in it.
struct tlsf_slack {
  static constexpr bool is_kept = watches_slack;
  static constexpr std::size_t bytes = is_kept ? 1 : 0;

  static void fill(std::byte* data, std::size_t wanted, std::size_t usable) noexcept {
    fill_watched_slack(data, wanted, usable);
  }

  /// Returns: the size requested, by the last byte.
  [[nodiscard]] static std::size_t wanted(const std::byte* data, std::size_t usable) noexcept {
    mark_readable(data + usable - 1, 1);
    const std::size_t size = detail::slack_size(data + usable - 1);
    mark_free(data + usable - 1, 1);
    const std::size_t back = (usable - 1 - size) % detail::canary_period;
    return back < usable ? usable - 1 - back : 0;  // the size exceeds the block only if the canary was overwritten
  }

  /// Effects: reports a canary that was overwritten, or that belongs to another size.
  static void check(std::byte* data, std::size_t given, std::size_t usable, const tlsf_site& site) noexcept {
    if (given >= usable) report_tlsf_mismatch(tlsf_other_size, tlsf_block(data), site, wanted(data, usable), given);
    const std::size_t from = std::min(given, wanted(data, usable));
    mark_readable(data + from, usable - from);
    const slack_state slack = look_at_slack(data, given, usable);
    if (slack.is_intact) return mark_free(data + given, usable - given);
    if (slack.allocated != given) report_tlsf_mismatch(tlsf_other_size, tlsf_block(data), site, slack.allocated, given);
    report_write_behind(data, given, given, slack.written_to, site.resource);
  }
};

/// Effects: reports overwritten bytes of a region: a header, a free block, the bytes after a live one. Complexity:
/// O(bytes of free blocks).
inline void check_region(tlsf_region& region, const tlsf_site& site) noexcept {
  for (tlsf_block at = region.first(); at.data() != region.end;) {
    const tlsf_header h = at.header();
    const std::size_t room = h.stride() - tlsf_block::header_bytes;
    if (!at.is_sound() || h.is_end()) report_no_header(at.data(), region, site);
    if (h.is_free()) {
      check_member(at.data(), site);
      tlsf_poison::verify(at, h.stride(), site.resource);
    } else {
      tlsf_slack::check(at.data(), tlsf_slack::wanted(at.data(), room), room, site);
    }
    at = at.behind(h.stride());
  }
}

}  // namespace ashlar::ASHLAR_ABI::detail
