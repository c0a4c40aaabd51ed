// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The limits within which a resource over huge pages is tested, since each of its blocks takes 2 MiB or more.
#pragma once

#include <cstddef>

#include "tests/support/conformance.hpp"

namespace ashlar_test {

struct huge_page_conformance : conformance_defaults {
  static constexpr std::size_t page_bytes = std::size_t{2} << 20;
  static constexpr std::size_t max_alignment = 2 * page_bytes;
  static constexpr std::size_t largest = 10'000;
  static constexpr std::size_t most_live = 8;
  static constexpr std::size_t churn_steps = 60;
  static constexpr bool exhaustible = false;
};

}  // namespace ashlar_test
