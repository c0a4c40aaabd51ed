// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times each call of a replay in ticks, allocations and frees separately.
#pragma once

#include <cstdint>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/replay/tick_clock.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/study/histogram.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Subtracts the clock's own ticks from every sample; a call below the resolution of the clock counts as 0.
template <tick_clock Clock>
class latency_timer {
public:
  explicit latency_timer(std::uint64_t overhead) noexcept : overhead_(overhead) {}

  template <class F>
  ASHLAR_INLINE decltype(auto) allocation(F&& f) {
    const std::uint64_t start = Clock::now();
    decltype(auto) block = std::forward<F>(f)();
    record(allocations_, Clock::now() - start);
    return block;
  }

  template <class F>
  ASHLAR_INLINE void deallocation(F&& f) {
    const std::uint64_t start = Clock::now();
    std::forward<F>(f)();
    record(deallocations_, Clock::now() - start);
  }

  [[nodiscard]] const study::fine_histogram& allocations() const noexcept { return allocations_; }
  [[nodiscard]] const study::fine_histogram& deallocations() const noexcept { return deallocations_; }

private:
  ASHLAR_INLINE void record(study::fine_histogram& histogram, std::uint64_t ticks) noexcept {
    histogram.record(ticks > overhead_ ? ticks - overhead_ : 0);
  }

  std::uint64_t overhead_;
  study::fine_histogram allocations_;
  study::fine_histogram deallocations_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
