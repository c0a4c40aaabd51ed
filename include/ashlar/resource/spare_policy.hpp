// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a pool does with slabs that become empty: how many it keeps.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

/// How many empty slabs a pool keeps. A number stands for that many, for one more for every eight in use, which is what
/// a program that breathes needs again at once, and for those that the pool has learned to keep: each slab that went
/// back and was asked for again adds one, up to 1 MiB of them. So a program that goes up and down over the same few
/// slabs pays for system calls a few times only, and one that goes down for good keeps no more than the number. Where
/// the upstream takes neighbours back in one call, a large pool waits until a region's worth is too many
/// (`slab_source`). Kept slabs stay resident; `trim` gives them back, and forgets what was learned, whatever
/// this says.
///
/// | policy | keeps | for |
/// |---|---|---|
/// | a number, 1 being the default | that many, one for every eight in use, and what it has learned | most programs |
/// | `release_now` | none | few bytes above all; a program at a slab's boundary pays two system calls each time |
/// | `never_release` | all | a program that frees all it has to allocate it again, or to end |
class spare_policy {
public:
  // Implicit, so that a number is a policy.
  constexpr spare_policy(std::size_t slabs) noexcept : slabs_(slabs) {}

  [[nodiscard]] static constexpr spare_policy none() noexcept { return {0, 0}; }
  [[nodiscard]] static constexpr spare_policy all() noexcept { return {detail::max_size, 0}; }

  /// Returns: how many empty slabs are kept beside `in_use` others, where `missed` were given back too early.
  [[nodiscard]] constexpr std::size_t kept(std::size_t in_use, std::size_t missed = 0) const noexcept {
    const std::size_t share = (in_use / 8 + missed) * in_proportion_;
    return slabs_ > detail::max_size - share ? detail::max_size : slabs_ + share;
  }

  /// Returns: how many slabs of `slab_bytes` a pool may learn to keep.
  [[nodiscard]] static constexpr std::size_t most_learned(std::size_t slab_bytes) noexcept {
    return (std::size_t{1} << 20) / slab_bytes;
  }

  /// Returns: how many empty slabs beyond those it waits for before it gives them back, where `region` would be good.
  [[nodiscard]] constexpr std::size_t batch(std::size_t region) const noexcept {
    return in_proportion_ != 0 ? region : 1;
  }

  [[nodiscard]] friend constexpr bool operator==(const spare_policy&, const spare_policy&) noexcept = default;

private:
  constexpr spare_policy(std::size_t slabs, std::size_t in_proportion) noexcept
      : slabs_(slabs), in_proportion_(in_proportion) {}

  std::size_t slabs_;
  std::size_t in_proportion_ = 1;  // 1 or 0
};

inline constexpr spare_policy release_now = spare_policy::none();
inline constexpr spare_policy never_release = spare_policy::all();

}  // namespace ASHLAR_ABI
}  // namespace ashlar
