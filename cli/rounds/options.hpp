// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options for the number of rounds: --budget, or --repetitions instead.
#pragma once

#include <cstddef>

#include <CLI/CLI.hpp>

#include "cli/rounds/rounds.hpp"

namespace ashlar::cli {

inline void add_round_options(CLI::App& app, round_limits& limits) {
  auto* const budget =
      app.add_option("--budget", limits.seconds,
                     "Repeat until each difference is decided, or for this many seconds; at least three times")
          ->check(CLI::Range(0.0, 1e6))
          ->type_name("SECONDS")
          ->capture_default_str();
  app.add_option("--repetitions", limits.rounds, "Repeat exactly this many times instead")
      ->check(CLI::Range(std::size_t{1}, most_rounds))
      ->type_name("N")
      ->excludes(budget);
}

}  // namespace ashlar::cli
