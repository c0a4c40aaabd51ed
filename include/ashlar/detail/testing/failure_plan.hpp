// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The allocations that fail, counted from a call of the test.
#pragma once

#include <cstddef>
#include <new>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The exception of an allocation that a test made fail; users see it as `test::injected_failure`.
struct injected_failure : std::bad_alloc {
  [[nodiscard]] const char* what() const noexcept override { return "ashlar::test::injected_failure"; }
};

/// No allocation fails by default. Thread safety: none.
class failure_plan {
public:
  static constexpr std::size_t never = max_size;

  /// Effects: allocation number `k` from now on fails, counted from 0, and no other.
  void fail_at(std::size_t k) noexcept { fail_between(k, k == never ? never : k + 1); }
  /// Effects: all allocations from number `k` from now on fail.
  void fail_from(std::size_t k) noexcept { fail_between(k, never); }
  void fail_never() noexcept { fail_between(never, never); }

  /// Effects: counts an allocation. Returns: whether it must fail.
  [[nodiscard]] bool fails_next() noexcept {
    const std::size_t request = requests_++;
    return request >= first_failing_ && request < end_failing_;
  }

private:
  void fail_between(std::size_t first, std::size_t end) noexcept {
    requests_ = 0;
    first_failing_ = first;
    end_failing_ = end;
  }

  std::size_t requests_ = 0;
  std::size_t first_failing_ = never;
  std::size_t end_failing_ = never;
};

}  // namespace ashlar::ASHLAR_ABI::detail
