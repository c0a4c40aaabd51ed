// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The free memory that is retained regardless of the live bytes: the limit of one heap, or of several together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The spare memory of several heaps together, in bytes, beyond what each may have of its own: at most `most`, or an
/// eighth of what is live in all. Invariant: `kept` and `live` are the sums of the counts of its shares. Thread safety:
/// any thread; counts are relaxed, since they guard nothing.
class retention_limit {
public:
  explicit constexpr retention_limit(std::size_t most) noexcept : most_(most) {}

  /// Effects: changes the limit. What is counted already stays.
  void set(std::size_t most) noexcept { most_.store(most, memory_order_relaxed); }

  /// Returns: bytes for a share with the count `own`: beyond the limit its part of it, so that not each heap gives back
  /// the excess of all.
  [[nodiscard]] constexpr std::size_t left_for(std::size_t own) const noexcept {
    const std::size_t limit = detail::max(most(), live_.load(memory_order_relaxed) / 8), all = kept();
    if (all <= limit) return limit - all + own;
    constexpr std::size_t unit = 4096;
    return static_cast<std::size_t>(std::uint64_t{own / unit} * (limit / unit) / (all / unit + 1)) * unit;
  }

  /// Effects: replaces a count of `were` by `bytes`.
  void change(std::size_t were, std::size_t bytes) noexcept { kept_.fetch_add(bytes - were, memory_order_relaxed); }
  /// The same for live bytes.
  void change_live(std::size_t were, std::size_t bytes) noexcept {
    live_.fetch_add(bytes - were, memory_order_relaxed);
    if ((were == 0) != (bytes == 0)) users_.fetch_add(bytes != 0 ? 1 : std::size_t{0} - 1, memory_order_relaxed);
  }

  /// Effects: counts `bytes` more. Returns: false, without an effect, if less is left.
  [[nodiscard]] bool try_count(std::size_t bytes) noexcept {
    if (left_for(0) < bytes) return false;
    change(0, bytes);
    return true;
  }

  [[nodiscard]] constexpr std::size_t most() const noexcept { return most_.load(memory_order_relaxed); }
  [[nodiscard]] constexpr std::size_t kept() const noexcept { return kept_.load(memory_order_relaxed); }
  /// Returns: the number of shares with live bytes.
  [[nodiscard]] constexpr std::size_t users() const noexcept { return users_.load(memory_order_relaxed); }

private:
  atomic<std::size_t> most_;
  atomic<std::size_t> kept_ = 0;
  atomic<std::size_t> live_ = 0;
  atomic<std::size_t> users_ = 0;
};

/// The share of one heap in a common limit. Thread safety: none.
class retention_share {
public:
  explicit constexpr retention_share(retention_limit& common) noexcept : budget_(common) {}
  retention_share(const retention_share&) = delete;
  retention_share& operator=(const retention_share&) = delete;
  ~retention_share() { count(0); }

  /// Returns: bytes that may be retained of the common limit.
  [[nodiscard]] constexpr std::size_t left() const noexcept { return budget_.left_for(kept_); }
  /// Returns: bytes that a heap with `live` bytes may retain besides: of few heaps a half of the limit, about a slab of
  /// each size class; of many all together twice the limit.
  [[nodiscard]] constexpr std::size_t own(std::size_t live) const noexcept {
    const std::size_t most = budget_.most();
    return detail::max(detail::min(most / 2, most / detail::max<std::size_t>(budget_.users(), 1) * 2), live / 8);
  }
  /// Returns: bytes that may be retained without a live one.
  [[nodiscard]] constexpr std::size_t least() const noexcept { return detail::min(budget_.most(), left()); }

  /// Effects: sets the counts: of the common limit, and of live bytes.
  void count(std::size_t kept, std::size_t live = 0) noexcept {
    if (kept != kept_) budget_.change(std::exchange(kept_, kept), kept);
    if (live != live_) budget_.change_live(std::exchange(live_, live), live);
  }

private:
  retention_limit& budget_;
  std::size_t kept_ = 0, live_ = 0;
};

/// The same for a heap with a limit of its own.
class own_retention {
public:
  explicit constexpr own_retention(std::size_t most) noexcept : most_(most) {}

  [[nodiscard]] constexpr std::size_t left() const noexcept { return 0; }
  [[nodiscard]] constexpr std::size_t own(std::size_t live) const noexcept { return detail::max(most_, live); }
  [[nodiscard]] constexpr std::size_t least() const noexcept { return most_; }
  void count(std::size_t, std::size_t) noexcept {}

private:
  std::size_t most_;
};

/// Bytes that freeing threads may leave waiting for a heap. They rise by steps of 1 MiB while the heap may retain more;
/// over an upstream with a budget the steps after the first one count there. Relaxed counts, which guard nothing.
/// Thread safety: any thread.
template <class Upstream>
class transit_limit {
  static constexpr bool has_budget = requires(Upstream& upstream) { upstream.get().budget(); };

public:
  /// `most`: bytes that may wait in all.
  explicit constexpr transit_limit(std::size_t most) noexcept : most_(most) {}
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
    if constexpr (has_budget) return upstream.get().budget().try_count(bytes);
    else return true;
  }
  static void uncount([[maybe_unused]] std::size_t bytes, [[maybe_unused]] Upstream& upstream) noexcept {
    if constexpr (has_budget) upstream.get().budget().change(bytes, 0);
  }

  std::size_t most_;
  atomic<std::size_t> admitted_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
