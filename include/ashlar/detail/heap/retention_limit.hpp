// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The free memory that is retained regardless of the live bytes: the limit of one heap, or of several together.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The common limit of several heaps, in bytes. Invariant: `kept` is the sum of the counts of its shares. Thread
/// safety: any thread; counts are relaxed, since they guard nothing.
class retention_limit {
public:
  explicit retention_limit(std::size_t most) noexcept : most_(most) {}

  /// Returns: bytes left for a share with the count `own`.
  [[nodiscard]] std::size_t left_beside(std::size_t own) const noexcept {
    return most_ - detail::min(most_, kept() - own);
  }

  /// Effects: replaces a count of `were` by `bytes`.
  void change(std::size_t were, std::size_t bytes) noexcept { kept_.fetch_add(bytes - were, memory_order_relaxed); }

  /// Effects: counts `bytes` more. Returns: false, without an effect, if less is left.
  [[nodiscard]] bool try_count(std::size_t bytes) noexcept {
    if (left_beside(0) < bytes) return false;
    change(0, bytes);
    return true;
  }

  [[nodiscard]] std::size_t most() const noexcept { return most_; }
  [[nodiscard]] std::size_t kept() const noexcept { return kept_.load(memory_order_relaxed); }

private:
  std::size_t most_;
  atomic<std::size_t> kept_ = 0;
};

/// The share of one heap in a common limit. Thread safety: none.
class retention_share {
public:
  static constexpr bool is_shared = true;

  explicit retention_share(retention_limit& common) noexcept : budget_(common) {}
  retention_share(const retention_share&) = delete;
  retention_share& operator=(const retention_share&) = delete;
  ~retention_share() { count(0); }

  /// Returns: bytes that may be retained.
  [[nodiscard]] std::size_t most() const noexcept { return budget_.left_beside(counted_); }

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
  static constexpr bool is_shared = false;

  explicit own_retention(std::size_t most) noexcept : most_(most) {}

  [[nodiscard]] std::size_t most() const noexcept { return most_; }
  void count(std::size_t) noexcept {}

private:
  std::size_t most_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
