// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The free memory that is retained regardless of the live bytes: the limit of one heap, or of several together.
#pragma once

#include <cstddef>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The common limit of several heaps, in bytes. Invariant: `kept` is the sum of the counts of its shares. Thread
/// safety: any thread; counts are relaxed, since they guard nothing.
class retention_limit {
public:
  explicit constexpr retention_limit(std::size_t most) noexcept : most_(most) {}

  /// Effects: changes the limit. What is counted already stays.
  void set(std::size_t most) noexcept { most_.store(most, memory_order_relaxed); }

  /// Returns: bytes left for a share with the count `own`.
  [[nodiscard]] constexpr std::size_t left_beside(std::size_t own) const noexcept {
    const std::size_t limit = most();
    return limit - detail::min(limit, kept() - own);
  }

  /// Effects: replaces a count of `were` by `bytes`.
  void change(std::size_t were, std::size_t bytes) noexcept { kept_.fetch_add(bytes - were, memory_order_relaxed); }

  /// Effects: counts `bytes` more. Returns: false, without an effect, if less is left.
  [[nodiscard]] bool try_count(std::size_t bytes) noexcept {
    if (left_beside(0) < bytes) return false;
    change(0, bytes);
    return true;
  }

  [[nodiscard]] constexpr std::size_t most() const noexcept { return most_.load(memory_order_relaxed); }
  [[nodiscard]] constexpr std::size_t kept() const noexcept { return kept_.load(memory_order_relaxed); }

private:
  atomic<std::size_t> most_;
  atomic<std::size_t> kept_ = 0;
};

/// The share of one heap in a common limit. Thread safety: none.
class retention_share {
public:
  explicit constexpr retention_share(retention_limit& common) noexcept : budget_(common) {}
  retention_share(const retention_share&) = delete;
  retention_share& operator=(const retention_share&) = delete;
  ~retention_share() { count(0); }

  /// Returns: bytes that may be retained.
  [[nodiscard]] constexpr std::size_t most() const noexcept { return budget_.left_beside(counted_); }

  /// Effects: sets the count to `bytes`.
  void count(std::size_t bytes) noexcept {
    if (bytes == counted_) return;
    budget_.change(counted_, bytes);
    counted_ = bytes;
  }

private:
  retention_limit& budget_;
  std::size_t counted_ = 0;
};

/// The same for a heap with a limit of its own.
class own_retention {
public:
  explicit constexpr own_retention(std::size_t most) noexcept : most_(most) {}

  [[nodiscard]] constexpr std::size_t most() const noexcept { return most_; }
  void count(std::size_t) noexcept {}

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
