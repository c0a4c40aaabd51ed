// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reason of a difference between measurement and prediction: its measured parts, a line for each malloc.
#pragma once

#include <optional>
#include <string>

#include "cli/try/trial.hpp"

namespace ashlar::cli {

/// A prediction that misses by more percentage points needs a reason.
inline constexpr double points_without_reason = 6;

/// The parts of measured less predicted, in percent of the program's processor time under its own malloc.
struct missed_parts {
  double own_code = 0;  ///< User time outside libc and malloc: another placement of blocks in the caches.
  double kernel = 0;    ///< System time beyond the saving in the replay.
  double calls = 0;     ///< The rest: user time in libc and malloc, less the saving in the replay, touching included.
};

/// Returns: the distance of the measured processor time from the prediction, in percentage points.
[[nodiscard]] double missed_by(const trial& t);
/// Returns: none if the user time was not sampled.
[[nodiscard]] std::optional<missed_parts> parts_of_miss(const trials& tried, const trial& t);
/// Effects: runs the program for each malloc that misses, and with its own, and samples its user time.
void sample_misses(trials& tried, const trial_progress& progress);
/// Returns: the parts of at least a point, largest first; empty if the prediction does not miss.
[[nodiscard]] std::string reason_of_miss(const trials& tried, const trial& t);

}  // namespace ashlar::cli
