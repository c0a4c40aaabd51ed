// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The duration of the tests with many threads: a moment, or as the environment demands.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "tests/support/build.hpp"

namespace ashlar_test {

/// Returns: `rounds`, half of them in a build that tests samples and fewer in the builds of sanitizers, times
/// ASHLAR_STRESS if that is set.
[[nodiscard]] inline std::size_t stress_rounds(std::size_t rounds) {
  constexpr std::size_t slower = has_tsan || has_asan ? 10 : cases_of_build(2, 1);
  const char* const wanted = std::getenv("ASHLAR_STRESS");
  const long times = wanted != nullptr ? std::strtol(wanted, nullptr, 10) : 1;
  return (rounds + slower - 1) / slower * (times > 0 ? static_cast<std::size_t>(times) : 1);
}

}  // namespace ashlar_test
