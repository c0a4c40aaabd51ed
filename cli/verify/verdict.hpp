// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The conclusion of an experiment: effects with intervals, A against itself, modes, one verdict.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ashlar/base/event.hpp>

#include "cli/rounds/effect.hpp"
#include "cli/rounds/modes.hpp"
#include "cli/verify/experiment.hpp"

namespace ashlar::cli {

/// `incomplete`: spans were to be compared, and were not, or in too few pairs to tell a worse tail.
enum class verdict { better, equivalent, worse, inconclusive, incomplete, unfit };

// Exit statuses beside the statuses of all verbs.
inline constexpr int exit_worse = 3;
inline constexpr int exit_inconclusive = 4;
inline constexpr int exit_unfit = 5;  ///< A differs from itself: no verdict from this machine.

struct measure_effect {
  double a = 0;  ///< Geometric mean.
  double b = 0;
  paired_effect effect;
  finding found = finding::undecided;
};

/// Returns: the effect of `b` against `a`, run by run. Effects: draws from `random`.
[[nodiscard]] measure_effect effect_between(const std::vector<double>& a, const std::vector<double>& b, run_measure m,
                                            double threshold, double error, random_engine& random);

/// The 99th percentile of a span, run by run.
struct span_effect {
  std::string name;
  double a = 0;  ///< Geometric means, in nanoseconds.
  double b = 0;
  paired_effect effect;
  finding found = finding::undecided;
};

struct verification {
  detail::enum_table<run_measure, measure_effect> measures;
  paired_effect itself;  ///< A against A, of the measure that decides.
  std::optional<two_modes> modes_a;
  std::optional<two_modes> modes_b;
  verdict decision = verdict::inconclusive;
  std::vector<span_effect> spans;          ///< That each run has.
  std::vector<std::string> missing_spans;  ///< The names of those of A that B lacks: in all runs, or in some while A
                                           ///< has them in all.
  std::vector<std::string> uneven_spans;   ///< The names of the others that some runs have, and some have not.
  std::size_t wanted = 0;                  ///< If inconclusive: pairs, of all, that would decide.

  [[nodiscard]] const measure_effect& of(run_measure m) const noexcept { return measures[m]; }
};

/// The chance that an interval misses, as `effect_error`, for A against itself: a fit machine is called unfit with half
/// of it. Experiments with less error have less of it, in proportion.
inline constexpr double itself_error = 0.02;

/// Returns: the effect of A's second runs against its first ones, with the part of `itself_error` that `error` is of
/// `effect_error`. Effects: draws from `random`.
[[nodiscard]] paired_effect effect_of_itself(const std::vector<double>& first, const std::vector<double>& again,
                                             run_measure m, double error, random_engine& random);

/// Returns: whether A differs from itself, so that nothing follows from the other runs.
[[nodiscard]] bool is_unfit(const paired_effect& itself, double threshold);

/// Returns: the conclusion, the same for the same runs and seed.
[[nodiscard]] verification conclude(const experiment& runs, const experiment_plan& plan);

[[nodiscard]] int exit_status_of(verdict decision) noexcept;

}  // namespace ashlar::cli
