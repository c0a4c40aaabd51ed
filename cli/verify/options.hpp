// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of an experiment, for the verbs that run one.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/verify/experiment.hpp"

namespace ashlar::cli {

struct experiment_options {
  std::string runs = "auto";
  std::string threshold = "1%";
  std::string metric = "cpu";
  std::string budget = "60s";
  std::string rare = "5%";
  std::uint64_t seed = 0;
  const CLI::Option* seed_option = nullptr;
  const CLI::Option* budget_option = nullptr;
  const CLI::Option* rare_option = nullptr;
};

/// Effects: adds --runs, --budget, --rare and those below, and refuses a budget beside a number of pairs.
void add_experiment_options(CLI::App& app, experiment_options& o);

/// Effects: adds --threshold, --metric and --seed.
void add_judging_options(CLI::App& app, experiment_options& o);

/// Effects: sets the members of `plan` that the parsed options name; a random seed if none is given.
void apply(const experiment_options& o, experiment_plan& plan);

}  // namespace ashlar::cli
