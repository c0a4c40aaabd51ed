// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The effect of each part of a change, from pairs of runs with a random half of the parts and with the other half.
//
//   log(time with S / time with the rest) = sum of +effect for parts in S, -effect for the others, + noise
//
// Least squares over the pairs, so that every run informs every part.
#pragma once

#include <cstddef>
#include <vector>

#include "cli/rounds/effect.hpp"

namespace ashlar::cli {

/// Which parts the first run of a pair had; the second had the others.
using part_choice = std::vector<bool>;

/// Returns: each part with probability 1/2.
[[nodiscard]] part_choice choose_parts(std::size_t parts, random_engine& random);
[[nodiscard]] part_choice others_than(part_choice choice);

/// Returns: how many pairs the parts need, so that some are left to estimate the noise.
[[nodiscard]] constexpr std::size_t least_pairs_for(std::size_t parts) noexcept { return parts + 6; }

/// Returns: the effect of each part in logarithms, intervals that hold together with 1 - error (Bonferroni). Expects:
/// as many choices as ratios, all of the same size. Throws: `std::runtime_error` if the choices do not distinguish the
/// parts: more pairs are needed. Complexity: pairs * parts^2 + parts^3.
[[nodiscard]] std::vector<mean_interval> part_effects(const std::vector<part_choice>& choices,
                                                      const std::vector<double>& log_ratios, double error);

}  // namespace ashlar::cli
