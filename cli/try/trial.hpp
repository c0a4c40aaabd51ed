// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The experiments of `ashlar try`: A is the program as it is, B the program under one malloc, as `ashlar verify` has
// it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/try/prediction.hpp"
#include "cli/verify/experiment.hpp"
#include "cli/verify/verdict.hpp"

namespace ashlar::cli {

/// One malloc.
struct trial {
  prediction predicted;
  experiment_plan plan;
  experiment runs = {};
  verification found = {};
  std::string failure = {};             ///< If not empty, `runs` and `found` are not valid.
  std::vector<double> own_shares = {};  ///< Of user time, the part in the program's own code, in separate runs.
};

struct trials {
  std::vector<trial> all;
  std::vector<double> own_shares = {};  ///< The same of A.

  /// Returns: the best by the measure that decides; null if none is better.
  [[nodiscard]] const trial* best() const noexcept;
};

/// Called before each pair.
using trial_progress = std::function<void(const std::string& name, const std::string& step)>;

/// `setting`: what all experiments share: A, input, limits, seed. Effects: runs one experiment after the other, which
/// share the error and the budget evenly. Throws: `std::runtime_error` if nothing can be preloaded into the program, or
/// A fails.
[[nodiscard]] trials try_all(const experiment_plan& setting, const std::vector<prediction>& candidates,
                             const trial_progress& progress);

/// Returns: 1 if a malloc failed, else the status of `unfit` or, if none is better, of `inconclusive`; else 0.
[[nodiscard]] int exit_status_of(const trials& tried) noexcept;

}  // namespace ashlar::cli
