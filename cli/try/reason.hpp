// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Why measured and predicted differ: parts of the difference that are measured, a line for each candidate.
#pragma once

#include <optional>
#include <string>

#include "cli/try/trial.hpp"

namespace ashlar::cli {

/// A prediction that misses by more percentage points wants a reason.
inline constexpr double points_without_reason = 6;

/// What measured less predicted consists of, in percent of the program's processor time under its own malloc.
struct missed_parts {
  double own_code = 0;  ///< User time outside libc and malloc: blocks lie otherwise in its caches.
  double kernel = 0;    ///< System time beyond what the replay saves of it.
  double calls = 0;  ///< The rest: user time in libc and malloc, less what the replay saves of it, touching included.
};

/// Returns: how far the measured processor time lies outside what was predicted, in percentage points.
[[nodiscard]] double missed_by(const trials& all, const trial& t);
/// Returns: none if the user time was not sampled.
[[nodiscard]] std::optional<missed_parts> parts_of_miss(const trials& all, const trial& t);
/// Effects: runs the program for each candidate that misses, and with its own malloc, and samples its user time.
void sample_misses(program_runner& program, trials& all, const trial_progress& progress);
/// Returns: the parts of at least a point, largest first; empty if the prediction does not miss.
[[nodiscard]] std::string reason_of_miss(const trials& all, const trial& t);

}  // namespace ashlar::cli
