// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts the question to the process apart, and its answer into the advice.
#include "cli/advise/measurement.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/advise/trials.hpp"
#include "cli/remedies/apart.hpp"
#include "cli/remedies/predicted.hpp"
#include "cli/remedies/text.hpp"
#include "cli/report/recorded_build.hpp"
#include "cli/rounds/progress.hpp"
#include "cli/routes/build_id.hpp"
#include "cli/support/inspect_program.hpp"
#include "cli/support/verb.hpp"
#include "cli/support/words.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

/// In the process apart.
std::string answer_to(const std::string& text) {
  const json question = json::from_cbor(text);
  std::istringstream plan(question.at("plan").get<std::string>());
  remedy_request request{.command = question.at("command"),
                         .input = question.at("input"),
                         .routes = read_plan(plan, "the plan"),
                         .rounds = question.at("rounds"),
                         .seconds = question.at("seconds"),
                         .seed = question.at("seed"),
                         .threshold = question.at("threshold"),
                         .decides = question.at("decides"),
                         .only_mallocs = question.at("only_mallocs"),
                         .with = question.at("with")};
  if (const std::string path = question.at("path"); !path.empty()) request.plan = path;
  const remedy_measurement m =
      measure_remedies(request, [](const std::string& what) { print_progress("[" + what + "]"); });
  clear_progress();
  json answer = {{"text", remedy_text(m, request)},
                 {"data", remedy_json(m, request)},
                 {"kept", m.kept},
                 {"plan_failure", m.plan_failure},
                 {"of_sites", !request.only_mallocs},
                 {"unfit", m.decision == remedy_decision::unfit},
                 {"status", m.plan_failure.empty() ? exit_status_of(m.decision) : exit_failure}};
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Returns: the recorded command, the same in all traces.
std::vector<std::string> recorded_command(const std::vector<std::unique_ptr<trace_input>>& inputs) {
  const std::vector<std::string>& command = inputs.front()->info().command_line;
  if (command.empty())
    throw measure_usage_error(inputs.front()->path() + " records no command: give the program after --");
  for (const auto& input : inputs)
    if (input->info().command_line != command)
      throw measure_usage_error(input->path() + " records another command than " + inputs.front()->path() +
                                ": give the one to measure after --");
  return command;
}

/// Without a build id nothing shows that the command still starts what was recorded.
void require_build(const trace_input& input) {
  if (recorded_build(input).empty())
    throw measure_usage_error(
        input.path() + " records no build id of its program, so its command is not run unless it is given after --");
}

/// Effects: the plan's groups have their effects as evidence.
void add_evidence(route_plan& plan, const json& effects) {
  for (const json& effect : effects)
    for (const std::size_t group : effect.at("groups")) plan.groups[group].evidence["measured"] = effect;
}

/// Returns: why the measurement has left no group.
std::string why_none_is_left(const std::string& failure) {
  return failure.empty() ? "no group of sites was measured to gain" : "routing fails: " + failure;
}

}  // namespace

void take_answer(const json& answer, advice& a, const call_tree& tree, route_plan& plan) {
  a.measurement = {.text = answer.at("text"), .data = answer.at("data")};
  if (answer.at("of_sites").get<bool>() && !answer.at("unfit").get<bool>()) {
    add_trials(a, tree, a.measurement.data, answer.at("plan_failure"));
    add_evidence(plan, a.measurement.data.at("groups"));
  }
  const bool had_groups = !plan.groups.empty();
  const auto kept = answer.at("kept").get<std::vector<std::size_t>>();
  a.left_groups.clear();
  for (std::size_t i = 0; i < plan.groups.size(); ++i)
    if (std::find(kept.begin(), kept.end(), i) == kept.end()) a.left_groups.push_back(i);
  plan = groups_of(plan, kept);
  if (had_groups && plan.groups.empty()) a.no_plan = why_none_is_left(answer.at("plan_failure"));
}

int measure_in_this_process() { return answer_apart(answer_to); }

void advice_measurer::take_program(const std::vector<std::unique_ptr<trace_input>>& inputs) {
  if (options_.level == measure_level::replay && inputs.size() > 1)
    throw measure_usage_error("--measure replay takes one trace");
  if (options_.level != measure_level::run) return;
  if (options_.program.empty()) {
    options_.program = recorded_command(inputs);
    is_recorded_ = true;
    for (const auto& input : inputs) require_build(*input);
  }
  const program_facts facts = inspect_program(options_.program.front());
  if (const std::string obstacle = describe(facts, {.name = "a malloc", .use = "measure"}); !obstacle.empty())
    throw std::runtime_error(obstacle);
  file_ = facts.path;
  if (!std::filesystem::exists(file_)) throw std::runtime_error(file_ + ": no such file; nothing was measured");
  for (const auto& input : inputs) {
    refuse_other_build(*input, file_);
    if (std::string note = unknown_build_note(*input, file_); !note.empty()) notes_.push_back(std::move(note));
  }
}

int advice_measurer::measure(advice& a, const call_tree& tree, route_plan& plan, const std::string& plan_path,
                             bool accept_prefix) {
  if (options_.level == measure_level::run) return run(a, tree, plan, plan_path);
  if (options_.level == measure_level::none || a.features.allocated.objects == 0) return exit_ok;
  a.measurement.data = replay_remedies(a.traces.front(), options_.seconds, a.limits.program_ns / 1e9, accept_prefix);
  a.measurement.data["level"] = "predicted";
  a.measurement.text = predicted_text(a.measurement.data);
  return predicted_status(a.measurement.data);
}

int advice_measurer::run(advice& a, const call_tree& tree, route_plan& plan, const std::string& plan_path) {
  if (const std::string obstacle = bind_plan(plan, file_); !obstacle.empty()) throw std::runtime_error(obstacle);
  const json question = {{"command", options_.program},
                         {"input", options_.input},
                         {"plan", to_text(plan)},
                         {"path", plan_path},
                         {"rounds", options_.rounds},
                         {"seconds", options_.seconds},
                         {"seed", options_.judging.seed},
                         {"threshold", options_.judging.threshold},
                         {"decides", options_.judging.decides},
                         {"only_mallocs", options_.only_mallocs},
                         {"with", options_.with}};
  std::string bytes;
  json::to_cbor(question, bytes);  // keeps words of the command that are not UTF-8
  const json answer = json::parse(ask_apart({"advise", measure_apart_flag}, bytes));
  if (is_recorded_ && a.limits.program_ns == 0)
    a.limits.program_ns = 1e6 * answer.at("data").at("cpu_ms").get<double>();
  take_answer(answer, a, tree, plan);
  a.warnings.insert(a.warnings.end(), notes_.begin(), notes_.end());
  return answer.at("status");
}

}  // namespace ashlar::cli
