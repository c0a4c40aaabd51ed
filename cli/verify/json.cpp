// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every run, so that another program can judge for itself.
#include <nlohmann/json.hpp>

#include "cli/verify/text.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

json measures_json(const verification& v) {
  json all;
  for (const run_measure m : run_measures) {
    const measure_effect& e = v.of(m);
    json j = effect_json(e.effect);
    j["a"] = e.a;
    j["b"] = e.b;
    j["b_takes"] = word_of(e.found);
    all[facts_of(m).key] = std::move(j);
  }
  return all;
}

json pairs_json(const experiment& runs, const experiment_plan& plan) {
  json all = json::array();
  for (const run_pair& pair : runs.pairs) {
    json j = {{"order", pair.order}, {"a", figures_json(pair.a)}, {"b", figures_json(pair.b)}};
    if (plan.spans) j["p99_ns_of_spans"] = {{"a", pair.spans_a}, {"b", pair.spans_b}};
    if (pair.again) j["c"] = figures_json(*pair.again);
    if (!plan.inputs.empty()) j["input"] = plan.inputs[pair.input];
    all.push_back(std::move(j));
  }
  return all;
}

json modes_json(const std::optional<two_modes>& m) {
  if (!m) return nullptr;
  const auto mode = [](const run_mode& one) { return json{{"centre", one.centre}, {"runs", one.runs}}; };
  return {mode(m->low), mode(m->high)};
}

json spans_json(const verification& v) {
  json all = json::object();
  for (const span_effect& s : v.spans) {
    json j = effect_json(s.effect);
    j["a"] = s.a;
    j["b"] = s.b;
    j["b_takes"] = word_of(s.found);
    all[s.name] = std::move(j);
  }
  return all;
}

json side_json(const program_side& side) {
  return {{"command", side.command}, {"library", side.library}, {"shown", side.shown}};
}

}  // namespace

json effect_json(const paired_effect& effect) {
  const median_interval ratio = effect.ratio();
  return {{"pairs", effect.pairs},
          {"ratio", ratio.median},
          {"interval", {ratio.least, ratio.greatest}},
          {"confidence", 1 - effect.error},
          {"chance", effect.chance},
          {"log_deviation", effect.deviation},
          {"detectable", effect.detectable()}};
}

json figures_json(const run_figures& figures) {
  json j;
  for (const run_measure m : run_measures) j[facts_of(m).key] = value_of(figures, m);
  return j;
}

json verify_json(const verification& v, const experiment& runs, const experiment_plan& plan) {
  json j = {{"verdict", name_of(v.decision)},
            {"sentence", verdict_sentence(v, plan)},
            {"decides", facts_of(plan.decides).key},
            {"threshold", plan.threshold},
            {"a", side_json(plan.a)},
            {"b", side_json(plan.b)},
            {"inputs", plan.inputs},
            {"seed", plan.seed},
            {"seconds", runs.seconds},
            {"status", runs.status},
            {"output_varies", runs.output_varies},
            {"pairs_planned", runs.planned},
            {"measures", measures_json(v)},
            {"p99_ns_of_spans", spans_json(v)},
            {"spans_missing_in_b", v.missing_spans},
            {"a_against_a", effect_json(v.itself)},
            {"modes", {{"a", modes_json(v.modes_a)}, {"b", modes_json(v.modes_b)}}},
            {"runs", pairs_json(runs, plan)}};
  if (v.decision == verdict::inconclusive) j["pairs_wanted"] = v.wanted;
  return j;
}

}  // namespace ashlar::cli
