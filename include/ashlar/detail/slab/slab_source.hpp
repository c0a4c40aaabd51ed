// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The source of memory for slabs: several at a time, if the upstream can take them back one by one.
#pragma once

#include <cstddef>
#include <utility>

#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The operating system serialises the mapping calls of a process, and page faults of all threads wait for them. So a
/// growing pool asks for a region, as large as an eighth of its slabs and at most 4 MiB, and cuts slabs off its low
/// end. The rest is untouched address space without memory. Slabs that are no parts of the upstream's come one by one:
/// two may share a page, which goes back as a whole.
///
///     region   | slab | slab | slab | raw ...      |
///
/// Only `request` calls the upstream to allocate. Invariant: `raw_` is a multiple of slabs. Thread safety: `request` as
/// the upstream, the others none.
template <resource Upstream>
class slab_source {
public:
  static constexpr std::size_t region_bytes = std::size_t{4} << 20;

  constexpr explicit slab_source(Upstream upstream) : upstream_(std::move(upstream)) {}

  slab_source(const slab_source&) = delete;  // the raw slabs would be handed out twice
  slab_source& operator=(const slab_source&) = delete;

  /// Returns: memory for a slab from the raw rest, or null.
  [[nodiscard]] void* take_raw(std::size_t slab_bytes) noexcept {
    if (raw_.size == 0) return nullptr;
    return std::exchange(raw_, behind(raw_, slab_bytes)).data;
  }

  /// Returns: a region for a pool of `held` slabs, to be passed to `keep`; one slab if the upstream has no memory for
  /// more, and a null block if it has none for that, or throws as the upstream.
  template <failure Failure = or_throw>
  [[nodiscard]] ASHLAR_INLINE block request(std::size_t slab_bytes, std::size_t held) noexcept(Failure == or_null) {
    ASHLAR_ASSUME(is_power_of_two(slab_bytes));  // so the upstream does not check it
    if (const std::size_t slabs = region(slab_bytes, held); slabs > 1)
      if (void* const p = try_allocate_from(upstream_, slabs * slab_bytes, slab_bytes)) return {p, slabs * slab_bytes};
    return {allocate_from<Failure>(upstream_, slab_bytes, slab_bytes), slab_bytes};
  }

  /// Returns: memory for a slab, the lowest of `region`. The rest becomes the raw rest; if there already is one, it
  /// goes back.
  [[nodiscard]] ASHLAR_INLINE void* keep(block region, std::size_t slab_bytes) noexcept {
    const block rest = behind(region, slab_bytes);
    if (raw_.size == 0) raw_ = rest;
    else if (rest.size != 0) upstream_.deallocate(rest.data, rest.size, slab_bytes);
    return region.data;
  }

  /// Effects: gives the raw rest back.
  void give_back_raw(std::size_t slab_bytes) noexcept {
    if (raw_.size != 0) upstream_.deallocate(raw_.data, raw_.size, slab_bytes);
    raw_ = {};
  }

  /// Returns: the number of slabs that a pool of `held` slabs asks for at once.
  [[nodiscard]] static constexpr std::size_t region(std::size_t slab_bytes, std::size_t held) noexcept {
    if (!takes_parts_of<Upstream>(slab_bytes)) return 1;
    return detail::max<std::size_t>(detail::min(held / 8, region_bytes / slab_bytes), 1);
  }

  [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }

private:
  [[nodiscard]] static block behind(block region, std::size_t bytes) noexcept {
    return {static_cast<std::byte*>(region.data) + bytes, region.size - bytes};
  }

  block raw_;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
