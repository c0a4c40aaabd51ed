// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts the question to the process apart, and its answer into the advice: what it tells about each call site.
//
// take_answer
// └─ add_trials
//    ├─ group_trials   the effect of each group
//    ├─ group_of_site  the group of a site
//    └─ sort_by_gain
#include "cli/advise/measurement.hpp"

#include <cmath>
#include <iostream>
#include <iterator>
#include <sstream>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "cli/advise/repetition.hpp"
#include "cli/routes/handover.hpp"
#include "cli/support/elf_file.hpp"
#include "cli/support/inspect_program.hpp"
#include "cli/support/text.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(remedy_request, command, input, directory, events, plan, rounds, seconds, seed,
                                   threshold, memory_price, decides, only_mallocs, with);

namespace {

using nlohmann::json;

constexpr std::size_t most_command = 60;  // columns
constexpr int exit_apart = 99;            // the output is the message of an error

/// Effects: starts the command with these words. Returns: its standard output. `question`: its standard input. Throws:
/// `std::runtime_error` with the message of what `measure_in_this_process` has caught, or if it died.
std::string ask_apart(const std::vector<std::string>& words, const std::string& question = "") {
  temporary_file asked;
  const temporary_file answered;
  asked.write(std::as_bytes(std::span(question)));
  ::lseek(asked.descriptor(), 0, SEEK_SET);
  own_part part = {
      .arguments = {"ashlar"}, .from = answered.descriptor(), .to = STDOUT_FILENO, .input = asked.descriptor()};
  part.arguments.insert(part.arguments.end(), words.begin(), words.end());
  for (char** entry = ::environ; *entry != nullptr; ++entry) part.environment.emplace_back(*entry);
  const int status = run_self(std::move(part));
  std::string text(static_cast<std::size_t>(std::max<off_t>(::lseek(answered.descriptor(), 0, SEEK_END), 0)), '\0');
  const ssize_t n = ::pread(answered.descriptor(), text.data(), text.size(), 0);
  if (!WIFEXITED(status)) throw std::runtime_error("the process that measures died");
  if (n <= 0) throw std::runtime_error("the process that measures ended without an answer");
  if (WEXITSTATUS(status) == exit_apart) throw std::runtime_error(text);
  return text;
}

/// In the process apart.
std::string answer_to(const std::string& text) {
  const json question = json::from_cbor(text);
  std::istringstream routes(question.at("routes").get<std::string>());
  remedy_request request = question;
  request.routes = read_plan(routes, "the plan");
  if (!request.directory.empty()) std::filesystem::current_path(request.directory);
  if (request.events != 0)
    request.spent =
        require_same_work(request.command, request.input, request.events, request.seconds, question.at("traces"));
  const remedy_measurement m = measure_remedies(request);
  clear_progress();
  json answer = {{"text", remedy_text(m, request)},
                 {"data", remedy_json(m, request)},
                 {"kept", m.kept},
                 {"no_plan", m.no_plan},
                 {"plan_failure", m.plan_failure},
                 {"of_sites", !request.only_mallocs},
                 {"unfit", m.decision == remedy_decision::unfit},
                 {"status", m.plan_failure.empty() ? exit_status_of(m.decision) : exit_failure}};
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Returns: the JSON of `ashlar replay` on the usual allocators, within about this many seconds.
json replay_remedies(const std::string& trace, double seconds, double program_seconds, bool accept_prefix) {
  std::vector<std::string> words = {"replay", "--json", "-", trace, "--budget", fmt::format("{}", seconds)};
  if (program_seconds > 0) words.insert(words.end(), {"--program-seconds", fmt::format("{}", program_seconds)});
  if (accept_prefix) words.emplace_back("--damaged");
  return json::parse(ask_apart(words));
}

std::string predicted_text(const json& replay) {
  std::string text = paragraph(replay.at("preload")) + "\n";
  text += paragraph(fmt::format("PREDICTED by a replay of the trace, {} of each in {:.0f} s, against {}: the time of "
                                "allocation and free, without the program's own code and its cache misses; the "
                                "intervals hold together with 95 %. '--measure run' measures the program.",
                                counted(replay.at("repetitions").get<std::uint64_t>(), "repetition"),
                                replay.at("seconds").get<double>(),
                                replay.at("baseline").is_null() ? "nothing" : replay["baseline"].get<std::string>()));
  const auto add_line = [&text](const std::string& line) { text += wrapped(line, page_width, "  ") + "\n"; };
  for (const json& line : replay.at("findings")) add_line(line);
  for (const json& allocator : replay.at("allocators"))
    if (allocator.contains("failure"))
      add_line(fmt::format("{}: not replayed: {}", allocator["name"].get<std::string>(),
                           allocator["failure"].get<std::string>()));
  return text + paragraph(replay.at("meaning"));
}

std::vector<std::string> recorded_command(const std::vector<std::unique_ptr<trace_input>>& inputs) {
  const std::vector<std::string>& command = inputs.front()->info().command_line;
  if (command.empty()) throw usage_error(inputs.front()->path() + " records no command: give the program after --");
  for (const auto& input : inputs)
    if (input->info().command_line != command)
      throw usage_error(input->path() + " records another command than " + inputs.front()->path() +
                        ": give the one to measure after --");
  return command;
}

/// Returns: that nothing shows whether the file is the recorded program; empty if its build id does. Throws:
/// `std::runtime_error` with both build ids, if that of the file is another one than the recorded one.
std::string build_note(const trace_input& input, const std::string& file) {
  const std::string recorded = input.build_id(), now = build_id_of(file);
  if (recorded.empty())
    return fmt::format("{} has no build id: nothing shows that {} is the recorded program.", input.path(), file);
  if (recorded == now) return {};
  throw std::runtime_error(
      fmt::format("{} is of another build than {}: of build id {}, and that file has {}; record it "
                  "again",
                  input.path(), file, recorded, now.empty() ? "none" : now));
}

/// Without a build id nothing shows that the command still starts what was recorded.
void require_build(const trace_input& input) {
  if (input.build_id().empty())
    throw usage_error(input.path() +
                      " records no build id of its program, so its command is not run unless it is given after --");
}

/// Effects: the plan's groups have their effects as evidence.
void add_evidence(route_plan& plan, const json& effects) {
  for (const json& effect : effects)
    for (const std::size_t group : effect.at("groups")) plan.groups[group].evidence["measured"] = effect;
}

using chain_map = std::map<std::vector<route_frame>, std::size_t>;

/// The router with an empty plan is the baseline: a group's effect holds no gain of the heap, and no cost of routing
/// that other groups have too.
constexpr const char* over_empty = "over an empty plan: ";

site_trial trial_of_part(const json& effect) {
  const std::size_t together = effect.at("groups").size();
  return {.found = verdict_named(effect.at("verdict").get<std::string>()),
          .text = (together == 1 ? "" : counted(together, "group") + " together: ") + over_empty +
                  effect.at("text").get<std::string>(),
          .log_ratio = std::log(effect.at("ratio").get<double>()),
          .groups = effect.at("groups")};
}

/// The verdict on the whole plan is that on each of its groups.
site_trial trial_of_plan(const json& effect, std::size_t groups) {
  site_trial trial{.found = verdict_named(effect.at("verdict").get<std::string>()),
                   .text = (groups == 1 ? "" : "all " + counted(groups, "group") + " of the plan together: ") +
                           over_empty + effect.at("text").get<std::string>(),
                   .log_ratio = std::log(effect.at("ratio").get<double>()),
                   .groups = std::vector<std::size_t>(groups)};
  std::iota(trial.groups.begin(), trial.groups.end(), std::size_t{0});
  return trial;
}

/// Returns: of each group of the plan; none if nothing was measured of it.
std::vector<std::optional<site_trial>> group_trials(const json& data, std::size_t groups) {
  std::vector<std::optional<site_trial>> trials(groups);
  for (const json& effect : data.at("groups"))
    for (const std::size_t group : effect.at("groups")) trials.at(group) = trial_of_part(effect);
  const json whole = data.value("whole_plan_over_empty_plan", json());
  if (!data.at("groups").empty() || whole.is_null() || whole.at("pairs") < 2) return trials;
  for (auto& trial : trials) trial = trial_of_plan(whole, groups);
  return trials;
}

chain_map groups_by_chain(const route_plan& plan) {
  chain_map groups;
  for (std::size_t i = 0; i < plan.groups.size(); ++i)
    for (const route_site& site : plan.groups[i].sites) groups.emplace(site.chain, i);
  return groups;
}

/// A site and a group that have calls in common.
struct shared_calls {
  std::size_t group = 0;
  bool some = false;  ///< The group has objects of some of the site's callers alone.
};

std::optional<shared_calls> group_of_chain(const std::vector<route_frame>& chain, const chain_map& groups) {
  const auto longer = groups.lower_bound(chain);
  const bool begins = longer != groups.end() && longer->first.size() > chain.size() &&
                      std::equal(chain.begin(), chain.end(), longer->first.begin());
  for (std::vector<route_frame> part = chain; !part.empty(); part.pop_back())
    if (const auto at = groups.find(part); at != groups.end()) return shared_calls{at->second, false};
  return begins ? std::optional<shared_calls>({longer->second, true}) : std::nullopt;
}

/// Returns: the first group with calls of the site; it has some of them if other nodes are in none, or in another.
std::optional<shared_calls> group_of_site(const advised_site& s, const call_tree& tree, const chain_map& groups) {
  std::optional<shared_calls> found;
  bool is_same = true;
  for (const std::vector<route_frame>& chain : chains_of(s, tree)) {
    const auto shared = group_of_chain(chain, groups);
    is_same = is_same && shared && (!found || found->group == shared->group);
    if (!found) found = shared;
  }
  if (found && !is_same) found->some = true;
  return found;
}

bool has_ancestor(std::uint32_t node, std::uint32_t ancestor, const call_tree& tree) {
  while (node != ancestor && node != site_node::none) node = tree.nodes()[node].parent;
  return node == ancestor;
}

std::string why_unrouted(const advised_site& s, const advice& a, const call_tree& tree) {
  const std::vector<std::uint32_t> nodes = s.nodes();
  const auto is_below = [&](std::uint32_t ancestor) {
    return std::ranges::any_of(nodes, [&](std::uint32_t node) { return has_ancestor(node, ancestor, tree); });
  };
  const auto is_above = [&](std::uint32_t node) {
    return std::ranges::any_of(nodes, [&](std::uint32_t ancestor) { return has_ancestor(node, ancestor, tree); });
  };
  for (const left_out_site& left : a.left_out)
    if (is_below(left.node) || is_above(left.node)) return left.obstacle;
  if (std::string obstacle = plan_obstacle(*s.features, a.limits); !obstacle.empty()) return obstacle;
  for (const ungrouped_site& site : a.ungrouped)
    if (is_below(site.node)) return site.obstacle;
  return "its route would have more than " + counted(most_routed_depth, "frame");
}

bool is_gain(const site_trial& trial) { return trial.found == finding::gain; }
bool is_no_gain(const site_trial& trial) { return trial.found == finding::level || trial.found == finding::loss; }
bool is_decided(const site_trial& trial) { return is_gain(trial) || is_no_gain(trial); }

/// Returns: the nanoseconds of a run, by which estimates are shares; 0: they are not known.
double run_ns(const advice& a, const json& data) {
  return a.limits.program_ns > 0 ? a.limits.program_ns : 1e6 * data.value("cpu_ms", 0.0);
}

/// Returns: what a site may add to the run, as the logarithm of a ratio: the gain of its group, in which it has a part
/// by its estimate; else the estimate as a share of the run.
double expected_gain(const advised_site& s, const advice& a, double of_run_ns) {
  if (is_gain(s.trial)) {
    double all = 0;
    for (const advised_site& other : a.sites)
      if (other.trial.groups == s.trial.groups && other.rule->proposes != remedy::nothing) all += other.estimate;
    return all > 0 ? s.trial.log_ratio * s.estimate / all : s.trial.log_ratio;
  }
  const auto runs = static_cast<double>(std::max<std::uint64_t>(a.features.traces, 1));
  return of_run_ns > 0 ? std::log1p(-std::min(s.estimate / runs / of_run_ns, 0.99)) : 0;
}

/// Sites whose group does not gain are behind the others, those whose remedy is none therefore behind these, and those
/// without a remedy the last, in their order.
void sort_by_gain(advice& a, double of_run_ns) {
  std::vector<std::tuple<int, double, std::size_t>> keys;
  for (std::size_t i = 0; i < a.sites.size(); ++i) {
    const advised_site& s = a.sites[i];
    const standing is = standing_of(s);
    if (is == standing::nothing) keys.emplace_back(3, 0, i);
    else if (is_no_gain(s.trial)) keys.emplace_back(is == standing::no_gain ? 2 : 1, s.trial.log_ratio, i);
    else keys.emplace_back(0, expected_gain(s, a, of_run_ns), i);
  }
  std::ranges::sort(keys);
  std::vector<advised_site> sorted;
  for (const auto& [rank, gain, i] : keys) sorted.push_back(std::move(a.sites[i]));
  a.sites = std::move(sorted);
}

/// Returns: why the sites of a group have no effect of their own.
std::string why_by_estimate(const advice& a, const json& data, const std::string& plan_failure) {
  if (!plan_failure.empty()) return "routing fails: " + plan_failure;
  if (a.plan.groups.empty()) return "there is no plan to try";
  if (a.plan_trials.size() == 1 && a.plan_trials.front().found == finding::undecided)
    return "the effect of the plan is undecided";
  const json& budget = data.value("groups_budget_seconds", json());
  if (!budget.is_number()) return "the effects of the groups are not known";
  return fmt::format("the effect of each group of the plan takes about --budget {:.0f}s", budget.get<double>());
}

std::string order_of(const advice& a, const json& data, const std::string& plan_failure) {
  const auto has = [&a](bool (*is)(const site_trial&)) {
    return std::ranges::any_of(
        a.sites, [is](const advised_site& s) { return s.rule->proposes != remedy::nothing && is(s.trial); });
  };
  const bool gains = has(is_gain);
  const bool each = !data.at("groups").empty() || (a.plan_trials.size() == 1 && is_decided(a.plan_trials.front()));
  if (each)
    return gains ? "By their gain: measured over an empty plan, a group's shared among its sites by ESTIMATE; by "
                   "ESTIMATE alone if they are undecided or were not tried. Those whose group is level or a loss are "
                   "the last."
                 : "None of those with a remedy is in a group that gains: first those that are undecided or were not "
                   "tried, by ESTIMATE; those whose group is level or a loss are the last.";
  const std::string reason = why_by_estimate(a, data, plan_failure) + ".",
                    estimate = "that of ESTIMATE, not of measured gain: " + reason;
  if (gains)
    return "By their gain: the plan's as a whole, shared among its sites by ESTIMATE, else ESTIMATE: " + reason;
  if (has(is_no_gain)) return "Last those of the plan, which does not gain as a whole. The order within is " + estimate;
  return "The order is " + estimate;
}

}  // namespace

void tell_routes(advice& a, const call_tree& tree) {
  const chain_map groups = groups_by_chain(a.plan);
  for (advised_site& s : a.sites) {
    if (!facts_of(s.rule->proposes).may_be_routed) continue;
    const auto shared = group_of_site(s, tree, groups);
    if (!shared) s.evidence.append("; no route would serve it, as ").append(why_unrouted(s, a, tree));
    else
      s.evidence += fmt::format("; group {} of the plan routes {}", a.plan.groups[shared->group].name,
                                shared->some ? "calls of some callers" : "it");
    s.has_route = shared.has_value();
  }
}

void add_trials(advice& a, const call_tree& tree, const json& data, const std::string& plan_failure) {
  const auto trials = group_trials(data, a.plan.groups.size());
  a.plan_trials.clear();
  for (const auto& trial : trials) a.plan_trials.push_back(trial.value_or(site_trial{}));
  const chain_map groups = groups_by_chain(a.plan);
  for (advised_site& s : a.sites) {
    const auto shared = group_of_site(s, tree, groups);
    s.trial = shared ? trials[shared->group].value_or(site_trial{}) : site_trial{};
    if (s.trial.groups.empty()) continue;
    if (s.trial.groups.size() == 1)
      s.trial.text = fmt::format("group {}: {}", a.plan.groups[shared->group].name, s.trial.text);
    if (shared->some) s.trial.text = "calls of some callers, routed: " + s.trial.text;
  }
  sort_by_gain(a, run_ns(a, data));
  a.order = order_of(a, data, plan_failure);
}

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
  if (had_groups && plan.groups.empty()) a.no_plan = answer.at("no_plan");
}

int measure_in_this_process() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  try {
    std::cout << answer_to({std::istreambuf_iterator<char>(std::cin), {}}) << std::flush;
    return exit_ok;
  } catch (const std::exception& error) {
    std::cout << error.what() << std::flush;
    return exit_apart;
  }
}

void advice_measurer::take_program(const std::vector<std::unique_ptr<trace_input>>& inputs) {
  if (options_.level == measure_level::replay && inputs.size() > 1)
    throw usage_error("--measure replay takes one trace");
  if (options_.level == measure_level::run) {
    take_command(inputs);
    if (is_recorded_ && !is_of_started(inputs))
      complain("advise", fmt::format("runs {}, the traced process's command, which 'ashlar record' was not given",
                                     shorten(shell_line(options_.request.command), most_command)));
  }
  if (options_.level != measure_level::usual) return;
  try {
    take_repeatable(inputs);
  } catch (const std::runtime_error& error) {
    leave_out(error.what());
  }
}

void advice_measurer::take_repeatable(const std::vector<std::unique_ptr<trace_input>>& inputs) {
  remedy_request& request = options_.request;
  const repeatable_run run = repeatable_run_of(inputs, request.seconds);
  request.input = run.note.input_file;
  request.events = run.events;
  if (run.events == 0) throw std::runtime_error("no allocation was recorded");
  take_command(inputs);
  is_usual_ = true;
  options_.level = measure_level::run;
  complain("advise",
           fmt::format("runs {} again and again for at most {:.0f} s, with all its side effects, to measure the "
                       "remedies; '--measure none' does not",
                       shorten(shell_line(request.command), most_command), request.seconds));
}

void advice_measurer::leave_out(const std::string& reason) {
  options_.level = measure_level::none;
  not_measured_ = reason;
}

void advice_measurer::take_command(const std::vector<std::unique_ptr<trace_input>>& inputs) {
  remedy_request& request = options_.request;
  if (request.command.empty()) {
    request.command = recorded_command(inputs);
    request.directory = recorded_directory(inputs);
    if (!request.input.empty()) request.input = std::filesystem::absolute(request.input).string();
    is_recorded_ = true;
    for (const auto& input : inputs) require_build(*input);
  }
  const program_facts facts = inspect_program(program_in(request.directory, request.command.front()));
  if (const std::string obstacle = describe(facts, {.name = "a malloc", .use = "measure"}); !obstacle.empty())
    throw std::runtime_error(obstacle);
  file_ = facts.path;
  if (!std::filesystem::exists(file_)) throw std::runtime_error(file_ + ": no such file; nothing was measured");
  for (const auto& input : inputs)
    if (std::string note = build_note(*input, file_); !note.empty()) notes_.push_back(std::move(note));
}

int advice_measurer::measure(advice& a, const call_tree& tree, route_plan& plan, const std::string& plan_path,
                             bool accept_prefix) {
  if (has_run() && !is_usual_) return run(a, tree, plan, plan_path);
  if (has_run()) try {
      const int status = run(a, tree, plan, plan_path);
      return status == exit_failure ? status : exit_ok;  // no verdict was asked for
    } catch (const std::runtime_error& error) {
      leave_out(error.what());
    }
  a.not_measured = not_measured_;
  if (!not_measured_.empty()) a.warnings.push_back("Not measured: " + not_measured_ + ".");
  if (options_.level == measure_level::none || a.features.allocated.objects == 0) return exit_ok;
  a.measurement.data =
      replay_remedies(a.traces.front(), options_.request.seconds, a.limits.program_ns / 1e9, accept_prefix);
  a.measurement.data["level"] = "predicted";
  a.measurement.text = predicted_text(a.measurement.data);
  return a.measurement.data.at("preload_is_open").get<bool>() ? exit_undecided : exit_ok;
}

int advice_measurer::run(advice& a, const call_tree& tree, route_plan& plan, const std::string& plan_path) {
  if (const std::string obstacle = bind_plan(plan, file_); !obstacle.empty()) throw std::runtime_error(obstacle);
  remedy_request& request = options_.request;
  if (!plan_path.empty()) request.plan = plan_path;
  json question = request;
  question["routes"] = to_text(plan);
  std::optional<scratch_directory> traces;  // not in the process apart, which kills its children, the guard too
  if (request.events != 0) question["traces"] = traces.emplace().path();
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
