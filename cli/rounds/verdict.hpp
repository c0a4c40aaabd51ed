// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The verdict on an effect, of every verb: on B, a remedy, a plan or a group of it, by the interval beside it. The
// first that holds:
//
//   level       the whole interval is within the bound, also where it excludes 0: a smaller share does not matter
//   gain        it is below 0
//   loss        it is above 0
//   undecided   it holds 0
//
// Too few rounds for an interval are undecided. So are a gain and a loss of rounds whose random order alone has an
// effect as large with a chance of more than half the interval's error: equal programs are told apart in about 2.5 % of
// experiments at an error of 5 %, with any noise.
#pragma once

#include <string>
#include <string_view>

#include "cli/rounds/effect.hpp"

namespace ashlar::cli {

/// `bound`: the share that matters; a smaller one does not.
[[nodiscard]] finding verdict_of(const mean_interval& log_ratio, double bound) noexcept;
[[nodiscard]] finding verdict_of(const paired_effect& effect, double bound);

/// Returns: "gain", "loss", "level" or "undecided".
[[nodiscard]] const char* verdict_word(finding verdict) noexcept;
/// Returns: the verdict of this word; undecided for another one.
[[nodiscard]] finding verdict_named(std::string_view word) noexcept;

/// Returns: "gain: -14.6 % [-17.4, -11.4]"; an undecided one has what would have been seen behind it.
[[nodiscard]] std::string verdict_text(finding verdict, const mean_interval& log_ratio, double detectable);
/// Returns: the same of rounds, or that they are too few.
[[nodiscard]] std::string verdict_text(const comparison& c);

}  // namespace ashlar::cli
