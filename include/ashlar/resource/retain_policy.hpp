// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Retention of empty slabs in a pool, as a policy.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar::ASHLAR_ABI {

/// The number of empty slabs that a pool retains. A number `n` retains `n` slabs, one more for every eight in use, and
/// the slabs that the pool has learned to retain: each slab that went back and was requested again adds one, up to 1
/// MiB of them. A program that oscillates over the same few slabs thus pays for a few system calls only; a program
/// that shrinks for good retains `n` slabs. If the upstream takes neighbouring slabs back in one call, a large pool
/// first collects the surplus of one region (`slab_source`). Retained slabs stay resident; `trim` gives them back
/// under every policy and resets the learned number.
///
/// | policy | retains | use |
/// |---|---|---|
/// | a number, default 1 | that many, one for every eight in use, and the learned number | most programs |
/// | `release_now` | none | least memory; two system calls for each crossing of a slab's boundary |
/// | `never_release` | all | a program that frees everything to allocate it again, or to end |
class retain_policy {
public:
  // Implicit, so that a number is a policy.
  constexpr retain_policy(std::size_t slabs) noexcept : retain_policy(slabs, true) {}

  [[nodiscard]] static constexpr retain_policy none() noexcept { return {0, false}; }
  [[nodiscard]] static constexpr retain_policy all() noexcept { return {detail::max_size, false}; }

  /// Returns: the number of empty slabs to retain beside `in_use` others, after `missed` were given back too early.
  [[nodiscard]] constexpr std::size_t retained(std::size_t in_use, std::size_t missed = 0) const noexcept {
    const std::size_t slabs = beyond_one_ + 1;
    const std::size_t share = (in_use / 8 + missed) * (1 - is_fixed_);
    return slabs > detail::max_size - share ? detail::max_size : slabs + share;
  }

  /// Returns: the largest learned number for slabs of `slab_bytes`.
  [[nodiscard]] static constexpr std::size_t max_learned(std::size_t slab_bytes) noexcept {
    return (std::size_t{1} << 20) / slab_bytes;
  }

  /// Returns: the surplus of empty slabs at which a pool gives them back, for an upstream with regions of `region`
  /// slabs.
  [[nodiscard]] constexpr std::size_t batch(std::size_t region) const noexcept { return is_fixed_ == 0 ? region : 1; }

  [[nodiscard]] friend constexpr bool operator==(const retain_policy&, const retain_policy&) noexcept = default;

private:
  constexpr retain_policy(std::size_t slabs, bool in_proportion) noexcept
      : beyond_one_(slabs - 1), is_fixed_(in_proportion ? 0 : 1) {}

  // The default is all zeros, for the .bss of constant-initialised pools; 0 slabs wrap to the largest number.
  std::size_t beyond_one_;
  std::size_t is_fixed_;  // 1 or 0
};

inline constexpr retain_policy release_now = retain_policy::none();
inline constexpr retain_policy never_release = retain_policy::all();

}  // namespace ashlar::ASHLAR_ABI
