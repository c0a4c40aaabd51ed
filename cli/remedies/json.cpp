// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every run, so that another program can judge for itself.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/remedies/decide.hpp"
#include "cli/remedies/text.hpp"
#include "cli/verify/text.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

const char* name_of(remedy_decision decision) {
  switch (decision) {
    case remedy_decision::change_nothing: return "change nothing";
    case remedy_decision::use_winner: return "use the winner";
    case remedy_decision::inconclusive: return "inconclusive";
    case remedy_decision::unfit: break;
  }
  return "unfit";
}

json measure_json(const measure_effect& e) {
  json j = effect_json(e.effect);
  j["as_it_is"] = e.a;
  j["with_it"] = e.b;
  j["takes"] = word_of(e.found);
  return j;
}

/// Returns: the effect of the whole plan on its heap without routes.
json over_heap_json(const remedy_measurement& m) {
  if (!m.over_heap) return nullptr;
  json j = measure_json(*m.over_heap);
  const std::optional<std::size_t> heap = heap_alone(m);
  j["confirmed"] = heap && m.remedies[*heap].confirmed;
  j["text"] = time_text(m.over_heap->effect, heap ? m.least_rounds_of(m.remedies[*heap]) : m.least_rounds);
  return j;
}

json to_json(const remedy_effect& e, std::size_t least) {
  json j = {{"name", e.remedy.name},
            {"text", effect_text(e, least)},
            {"kind", name_of(e.remedy.kind)},
            {"library", e.remedy.side.library},
            {"use", e.remedy.side.shown}};
  if (!e.failure.empty()) {
    j["failure"] = e.failure;
    return j;
  }
  if (!e.remedy.option.empty()) j["option"] = e.remedy.option;
  j["confirmed"] = e.confirmed;
  for (const run_measure m : run_measures) j["measures"][facts_of(m).key] = measure_json(e.of(m));
  return j;
}

json to_json(const group_effect& group, const std::vector<std::size_t>& kept) {
  const median_interval ratio = group.log_ratio.ratio();
  return {{"name", group.name},
          {"groups", group.groups},
          {"ratio", ratio.median},
          {"interval", {ratio.least, ratio.greatest}},
          {"detectable", group.detectable},
          {"stays", std::find(kept.begin(), kept.end(), group.groups.front()) != kept.end()},
          {"text", group_text(group)}};
}

json rounds_json(const remedy_rounds& rounds, const std::vector<std::string>& names) {
  json sides = json::object();
  for (std::size_t i = 0; i < names.size() && i < rounds.sides.size(); ++i) {
    json runs = json::array();
    for (const run_figures& run : rounds.sides[i]) runs.push_back(figures_json(run));
    sides[names[i]] = std::move(runs);
  }
  json twice = json::array();
  for (const auto& [own, again] : rounds.twice) twice.push_back({figures_json(own), figures_json(again)});
  return {{"rounds", rounds.played},
          {"rounds_planned", rounds.planned == 0 ? json() : json(rounds.planned)},
          {"seconds", rounds.seconds},
          {"runs", sides},
          {"as_it_is_twice", twice}};
}

json remedies_json(const remedy_measurement& m) {
  json all = json::array();
  for (const remedy_effect& e : m.remedies) all.push_back(to_json(e, m.least_rounds_of(e)));
  return all;
}

json groups_json(const remedy_measurement& m) {
  json all = json::array();
  for (const group_effect& group : m.groups) all.push_back(to_json(group, m.kept));
  return all;
}

/// Of a remedy that was not tried.
json seen_json(const remedy_measurement& m) {
  const std::optional<seen_effect> seen = seen_effect_of(m);
  if (!seen) return nullptr;
  return {{"detectable", seen->detectable},
          {"pairs", seen->pairs},
          {"of", seen->of_groups ? "groups" : "remedies"},
          {"text", seen_text(seen->detectable)}};
}

/// Returns: the median processor time of the program as it is, in milliseconds.
double as_it_is(const remedy_measurement& m) {
  if (m.screened.sides.empty() || m.screened.sides[0].empty()) return m.first.cpu_ms;
  return median_of(m.screened.values(0, run_measure::cpu));
}

json name_at(const remedy_measurement& m, const std::optional<std::size_t>& n) {
  return n ? json(m.remedies[*n].remedy.name) : json();
}

}  // namespace

json remedy_json(const remedy_measurement& m, const remedy_request& request) {
  json j = {{"level", "measured"},
            {"decision", name_of(m.decision)},
            {"sentence", remedy_sentence(m, request)},
            {"winner", name_at(m, m.winner)},
            {"best_without_code", name_at(m, m.best_without_code)},
            {"whole_plan", name_at(m, m.whole_plan)},
            {"plan", name_at(m, m.by_plan)},
            {"plan_over_best", m.over_best ? measure_json(*m.over_best) : json()},
            {"whole_plan_over_heap", over_heap_json(m)},
            {"whole_plan_over_its_rest", m.whole_over_rest ? measure_json(*m.whole_over_rest) : json()},
            {"plan_on_pages_over_plan", m.pages_over_plan ? measure_json(*m.pages_over_plan) : json()},
            {"page_policy", name_at(m, page_policy_of(m, request.threshold))},
            {"plan_on_pages", name_at(m, m.plan_on_pages)},
            {"plan_on_pages_over_best", m.pages_over_best ? measure_json(*m.pages_over_best) : json()},
            {"command", request.command},
            {"input", request.input},
            {"budget_seconds", request.rounds != 0 ? json() : json(request.seconds)},
            {"seconds", m.seconds},
            {"seed", request.seed},
            {"threshold", request.threshold},
            {"metric", facts_of(request.decides).key},
            {"status", m.first.status},
            {"cpu_ms", as_it_is(m)},
            {"least_rounds", m.least_rounds},
            {"least_confirming_rounds", m.least_confirming},
            {"remedies", remedies_json(m)},
            {"groups", groups_json(m)},
            {"group_pairs", m.group_pairs},
            {"groups_budget_seconds", m.groups_budget == 0 ? json() : json(m.groups_budget)},
            {"would_have_been_seen", seen_json(m)},
            {"against_itself", effect_json(m.itself)},
            {"screen", rounds_json(m.screened, m.screened_names)},
            {"confirmation", rounds_json(m.confirmed, m.confirmed_names)},
            {"notes", m.notes}};
  if (m.decision == remedy_decision::inconclusive) j["rounds_wanted"] = m.wanted;
  return j;
}

}  // namespace ashlar::cli
