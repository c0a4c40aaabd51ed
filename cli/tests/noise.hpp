// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random numbers of simulated runs: the same on every platform, unlike the distributions of the standard library.
#pragma once

#include <cmath>

#include "cli/rounds/effect.hpp"

namespace ashlar_test {

/// Returns: a number between 0 and 1.
[[nodiscard]] inline double uniform(ashlar::cli::random_engine& random) {
  return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
}

/// Returns: a number of mean 0 and deviation 1.
[[nodiscard]] inline double normal(ashlar::cli::random_engine& random) {
  const double radius = std::sqrt(-2 * std::log(uniform(random)));  // drawn first by every compiler
  return radius * std::cos(2 * std::acos(-1.0) * uniform(random));
}

}  // namespace ashlar_test
