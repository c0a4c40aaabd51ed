// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every run of `ashlar try` as JSON.
#include <nlohmann/json.hpp>

#include "cli/replay/json.hpp"
#include "cli/try/reason.hpp"
#include "cli/try/text.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

json rounds_of(const trial& t) {
  json all;
  for (const program_measure m : program_measures) all[spelling_of(m).key] = t.in_rounds(m);
  all["system_ms"] = t.system_ms;
  all["page_faults"] = t.faults;
  all["own_code_share_of_user_time"] = t.own_shares;
  return all;
}

json candidate_of(const trials& all, const trial& t) {
  json j = {{"name", t.predicted.name}, {"library", t.predicted.library}};
  if (!t.predicted.command.empty()) j["command"] = t.predicted.command;
  if (!t.failure.empty()) {
    j["failure"] = t.failure;
    return j;
  }
  j["saved_ms"] = {{"least", t.predicted.saved_least_ms}, {"most", t.predicted.saved_most_ms}};
  j["loading"] = {{"cpu_ms", t.predicted.loading_ms}, {"rss_bytes", t.predicted.loading_bytes}};
  j["saved_system_ms"] = t.predicted.system_saved_ms;
  j["rounds"] = rounds_of(t);
  if (const auto parts = parts_of_miss(all, t))
    j["missed_points"] = {{"own_code", parts->own_code}, {"kernel", parts->kernel}, {"calls", parts->calls}};
  for (const program_measure m : program_measures) {
    const predicted_change p = predicted(all, t, m);
    j["predicted_percent"][spelling_of(m).key] = {p.least, p.most};
    j["measured"][spelling_of(m).key] = comparison_json(t.versus(m));
  }
  return j;
}

}  // namespace

json try_json(const trials& all, const trace_predictions& predictions, const std::string& program) {
  json candidates = json::array();
  for (const trial& t : all.candidates) candidates.push_back(candidate_of(all, t));
  return {{"program", program},
          {"recorded_program", predictions.program},
          {"threads", predictions.threads},
          {"status", all.status},
          {"output_varies", all.output_varies},
          {"repetitions", all.played.rounds},
          {"seconds", all.played.seconds},
          {"confidence", 1 - family_error},
          {"own_malloc", {{"rounds", rounds_of(all.own)}}},
          {"candidates", candidates},
          {"verdict", try_verdict(all, program)}};
}

}  // namespace ashlar::cli
