// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The limit of bytes on their way to a heap: a first step of its own, further ones out of the common budget.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Bytes that freeing threads may leave waiting for a heap. They rise by steps of 1 MiB while the heap may retain more;
/// over an upstream with a budget the steps after the first one count there. Relaxed counts, which guard nothing.
/// Thread safety: any thread.
template <class Upstream>
class transit_limit {
  static constexpr bool has_budget = requires(Upstream& upstream) { upstream.budget(); };

public:
  /// `most`: bytes that may wait in all.
  explicit transit_limit(std::size_t most) noexcept : most_(most) {}
  transit_limit(const transit_limit&) = delete;
  transit_limit& operator=(const transit_limit&) = delete;

  /// Returns: whether `bytes` more may wait beside `waiting`.
  [[nodiscard]] ASHLAR_INLINE bool admits(std::size_t bytes, std::size_t waiting, Upstream& upstream) noexcept {
    return ASHLAR_LIKELY(waiting + bytes <= admitted()) || rise(bytes, upstream);
  }

  /// Returns: whether more than the first step is admitted.
  [[nodiscard]] bool has_risen() const noexcept { return admitted() > step(); }

  /// Effects: falls to nothing, as nothing waits.
  void fall(Upstream& upstream) noexcept {
    const std::size_t admitted = admitted_.exchange(0, memory_order_relaxed);
    if (admitted != 0) uncount(admitted - step(), upstream);
  }

private:
  [[nodiscard]] std::size_t admitted() const noexcept { return admitted_.load(memory_order_relaxed); }
  [[nodiscard]] std::size_t step() const noexcept { return detail::min(std::size_t{1} << 20, most_); }

  [[nodiscard]] ASHLAR_COLD bool rise(std::size_t bytes, Upstream& upstream) noexcept {
    std::size_t were = admitted();
    if (bytes > step() || were + step() > most_) return false;
    const bool is_counted = were != 0;
    if (is_counted && !try_count(step(), upstream)) return false;
    const bool has_risen =
        admitted_.compare_exchange_strong(were, were + step(), memory_order_relaxed, memory_order_relaxed);
    if (!has_risen && is_counted) uncount(step(), upstream);  // another sender was faster, or all was taken
    return true;
  }

  [[nodiscard]] static bool try_count([[maybe_unused]] std::size_t bytes,
                                      [[maybe_unused]] Upstream& upstream) noexcept {
    if constexpr (has_budget) return upstream.budget().try_count(bytes);
    else return true;
  }
  static void uncount([[maybe_unused]] std::size_t bytes, [[maybe_unused]] Upstream& upstream) noexcept {
    if constexpr (has_budget) upstream.budget().change(bytes, 0);
  }

  std::size_t most_;
  atomic<std::size_t> admitted_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
