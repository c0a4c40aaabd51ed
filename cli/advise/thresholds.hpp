// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The thresholds of the rules, by their names: what `--rule NAME=VALUE` sets.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace ashlar::cli {

/// Below these advice is silent: a wrong proposal costs more than a missed one.
struct advice_limits {
  double pair_ns = 20;              ///< Time of a malloc and its free.
  double program_ns = 0;            ///< Of an unrecorded run; 0: unknown.
  double least_share = 0.001;       ///< Of calls, bytes, or the program's time.
  double least_estimate_ns = 50e3;  ///< Without the program's time: what no paired runs would show.
  double least_bytes = 1 << 20;
  double least_objects = 64;
  double owner_share = 0.95;  ///< Of the deaths, under one call of a function.
  double buffer_bytes = 4096;
  double buffer_epochs = 8;
  double growth_share = 0.4;  ///< Of the blocks, that are given up for a larger one.
  double growth_chains = 8;
  double growth_spread = 2;  ///< The ninth tenth of the final sizes by their median.
  double temporary_share = 0.9;
  double hand_over_share = 0.9;
  double never_freed_share = 0.95;
  double never_freed_bytes = 1 << 20;
  double long_share = 0.95;
  double long_life = 1 << 20;  ///< Bytes that the program allocates between birth and death.
  double long_of_all = 0.1;
  double long_bytes = 1 << 20;  ///< Of the pages that they keep.
  double long_pages = 4;        ///< By the pages that they need.
  double lifo_share = 0.99;
  double lifo_held = 1.5;  ///< By an arena, by the live bytes; so are the others.
  double batch_objects = 16;
  double batch_share = 0.8;  ///< Of the objects, that die in the last run of frees.
  double batch_ended = 0.9;  ///< Of the objects, that are of an ended epoch.
  double arena_held = 1.3;
  double phases = 4;
  double phase_objects = 16;  ///< In each.
  double phase_share = 0.95;  ///< Of the objects, that live in phases.
  double counted_held = 1.5;
  double pool_sizes = 4;
  double pool_held = 1.5;
};

struct advice_threshold {
  std::string_view name;  ///< The rule, and what it compares: "lifo.share".
  double advice_limits::* value = nullptr;
  double most = 1;  ///< The least is 0.
};

/// Returns: the mistake in "NAME=VALUE"; empty if there is none.
[[nodiscard]] std::string check_threshold_text(const std::string& text);

/// Effects: sets the threshold. Expects: `check_threshold_text` finds no mistake.
void set_threshold(advice_limits& limits, const std::string& text);

/// Returns: the values by their names; all, or those that are not as `advice_limits` has them at first.
[[nodiscard]] std::map<std::string, double> all_thresholds(const advice_limits& limits);
[[nodiscard]] std::map<std::string, double> changed_thresholds(const advice_limits& limits);

}  // namespace ashlar::cli
