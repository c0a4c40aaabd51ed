// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each experiment of `ashlar try` as `ashlar verify` writes it, with its prediction.
#include <nlohmann/json.hpp>

#include "cli/support/words.hpp"
#include "cli/try/reason.hpp"
#include "cli/try/text.hpp"
#include "cli/verify/text.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

json candidate_of(const trials& tried, const trial& t) {
  json j = {{"name", t.predicted.name}, {"library", t.predicted.library}};
  if (!t.predicted.command.empty()) j["command"] = t.predicted.command;
  if (!t.failure.empty()) {
    j["failure"] = t.failure;
    return j;
  }
  j["saved_ms"] = {{"least", t.predicted.saved_least_ms}, {"most", t.predicted.saved_most_ms}};
  j["loading"] = {{"cpu_ms", t.predicted.loading_ms}, {"rss_bytes", t.predicted.loading_bytes}};
  j["saved_system_ms"] = t.predicted.system_saved_ms;
  for (const run_measure m : {run_measure::cpu, run_measure::wall, run_measure::peak}) {
    const predicted_change p = predicted(t, m);
    j["predicted_percent"][facts_of(m).key] = {p.least, p.most};
  }
  j["own_code_share_of_user_time"] = t.own_shares;
  if (const auto parts = parts_of_miss(tried, t))
    j["missed_points"] = {{"own_code", parts->own_code}, {"kernel", parts->kernel}, {"calls", parts->calls}};
  j["verification"] = verify_json(t.found, t.runs, t.plan);
  return j;
}

}  // namespace

json try_json(const trials& tried, const trace_predictions& predictions) {
  json candidates = json::array();
  for (const trial& t : tried.all) candidates.push_back(candidate_of(tried, t));
  json best;  // null: none is better
  if (tried.best() != nullptr) best = tried.best()->predicted.name;
  return {{"program", joined(tried.all.front().plan.a.command)},
          {"recorded_program", predictions.program},
          {"threads", predictions.threads},
          {"own_code_share_of_user_time", tried.own_shares},
          {"candidates", candidates},
          {"best", best},
          {"conclusion", try_conclusion(tried)}};
}

}  // namespace ashlar::cli
