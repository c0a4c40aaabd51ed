// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Made-up effects of remedies.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "cli/remedies/experiment.hpp"

namespace ashlar_test::made_up {

using ashlar::cli::best_of, ashlar::cli::compare, ashlar::cli::comparison, ashlar::cli::random_engine;
using ashlar::cli::remedy_effect, ashlar::cli::remedy_kind, ashlar::cli::remedy_measurement;
using ashlar::cli::run_figures, ashlar::cli::run_measure;

inline constexpr double threshold = 0.01;

struct made_up_remedy {
  remedy_kind kind = remedy_kind::preload;
  std::string name;
  double ratio = 1;
  double spread = 0.01;
};

/// Ratios of 40 rounds with this mean, alternating by the spread.
inline comparison effect_with(double ratio, double spread, std::size_t rounds = 40) {
  random_engine random(3);
  std::vector<double> own(rounds, 100), with;
  for (std::size_t i = 0; i < rounds; ++i)
    with.push_back(100 * ratio * std::exp(i % 2 == 0 ? spread : -spread) * (i % 5 == 0 ? 1.0001 : 1));
  return compare(own, with, scale_of(run_measure::cpu, threshold), 0.05 / 6, random);
}

inline remedy_measurement measured(const std::vector<made_up_remedy>& remedies, double itself = 1) {
  remedy_measurement m;
  m.least_rounds = 10;
  m.screened.runs.played = {.rounds = 40, .planned = 40, .seconds = 40};
  for (std::size_t i = 0; i < 40; ++i) {
    run_figures own{}, again{};
    own[run_measure::cpu] = 100;
    again[run_measure::cpu] = 100 * itself * (i % 2 == 0 ? 1.001 : 0.999);
    m.screened.runs.rounds.push_back({.sides = {own}, .spans = {{}}});
    if (i < 20) m.screened.runs.rounds.back().again = again;
  }
  m.screened.names = {"as it is", "as it is again"};
  for (const made_up_remedy& r : remedies) {
    remedy_effect e;
    e.remedy = {.kind = r.kind, .name = r.name, .side = {.command = {}, .shown = "to use " + r.name}};
    e.measures[run_measure::cpu] = effect_with(r.ratio, r.spread);
    if (r.kind == remedy_kind::routes) m.by_plan = m.remedies.size();
    m.remedies.push_back(e);
  }
  m.best_without_code = best_of(m, [](const remedy_effect& e) { return e.remedy.kind != remedy_kind::routes; });
  return m;
}

}  // namespace ashlar_test::made_up
