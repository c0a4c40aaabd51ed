// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The regions of a tlsf_resource by address, with a table that speeds up the search at the levels that check.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/address_tree.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/tlsf/tlsf_block.hpp>
#include <ashlar/detail/tlsf/tlsf_region.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The most recent region at each 32 KiB of addresses, modulo 4 MiB: a guess, which the region must confirm.
template <bool IsKept = tlsf_block::is_sealed>
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

template <>
class tlsf_region_table<false> {
public:
  void insert(tlsf_region* /*region*/) noexcept {}
  void erase(const tlsf_region* /*region*/) noexcept {}
  void clear() noexcept {}
  [[nodiscard]] static tlsf_region* guess(const void* /*p*/) noexcept { return nullptr; }
};

/// Complexity: insert, erase and find O(log regions). Thread safety: none, but concurrent const calls are safe.
class tlsf_regions {
public:
  /// Expects: `region` is in no set.
  void insert(tlsf_region* region) noexcept {
    tree_.insert(region);
    table_.insert(region);
  }

  /// Expects: `region` is in this set.
  void erase(tlsf_region* region) noexcept {
    tree_.erase(region);
    table_.erase(region);
  }

  /// Effects: removes all regions.
  void clear() noexcept {
    tree_.clear();
    table_.clear();
  }

  /// Returns: the region that contains `p`, or null.
  [[nodiscard]] ASHLAR_INLINE tlsf_region* find(const void* p) const noexcept {
    tlsf_region* const guessed = table_.guess(p);
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
  ASHLAR_NO_UNIQUE_ADDRESS tlsf_region_table<> table_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
