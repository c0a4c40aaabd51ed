// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Changes are in percent of the program as it is, intervals in brackets.
#include "cli/remedies/experiment.hpp"

#include "cli/rounds/text.hpp"
#include "cli/support/output.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t name_width = 30;
constexpr std::size_t leaving_shown = 5;

using nlohmann::json;

/// The program as it is runs twice.
constexpr repeated_side the_program = {"The program", "round", "--rounds"};

std::vector<named_comparison> of_memory(const remedy_effect& e) {
  std::vector<named_comparison> all;
  for (const run_measure m : {run_measure::peak, run_measure::after})
    if (m != e.decides) all.push_back(named(m, e.measures));
  return all;
}

std::string remedy_effect_text(const remedy_effect& e) {
  if (!e.failure.empty()) return "not measured: " + e.failure;
  return verdict_text(e.deciding()) + (e.deciding().effect.could_tell() ? beside_text(of_memory(e)) : "");
}

/// Returns: the plan, with its page policy if that wins, against the best remedy without code.
std::string over_best(const remedy_measurement& m) {
  const bool is_on_pages = m.winner && m.winner == m.plan_on_pages;
  const std::optional<comparison>& over = is_on_pages ? m.pages_over_best : m.over_best;
  const std::optional<std::size_t>& plan = is_on_pages ? m.plan_on_pages : m.by_plan;
  if (!over || !m.best_without_code || !over->effect.could_tell()) return "";
  return fmt::format("{} over {}: {}.", plan ? capital(m.remedies[*plan].remedy.name) : "Routing",
                     m.remedies[*m.best_without_code].remedy.name, verdict_text(*over));
}

std::string effect_sentence(const remedy_measurement& m, std::size_t remedy) {
  const remedy_effect& e = m.remedies[remedy];
  std::vector<named_comparison> all = of_memory(e);
  all.insert(all.begin(), named(m.decides, e.measures));
  return fmt::format("{}: {}.", capital(e.remedy.name), plain_text(all));
}

/// Returns: a remedy of less time than the winner, and why it is not the one to use.
std::string over_memory(const remedy_measurement& m, const remedy_request& request) {
  if (!m.winner || !m.fastest || m.winner == m.fastest) return "";
  const remedy_effect& e = m.remedies[*m.winner];
  if (e.remedy.kind == remedy_kind::routes) return "";
  if (request.memory_price > 0)
    return fmt::format("{} Where 1 % of time may cost {:g} % of peak RSS, {} costs less.",
                       effect_sentence(m, *m.fastest), request.memory_price, e.remedy.name);
  return fmt::format("{} The intervals overlap, and {} takes less memory.", effect_sentence(m, *m.fastest),
                     e.remedy.name);
}

bool is_baseline(const remedy_effect& e) { return e.remedy.kind == remedy_kind::router; }

std::string nothing_sentence(const remedy_measurement& m) {
  const auto remedies = m.remedies.size() - static_cast<std::size_t>(std::ranges::count_if(m.remedies, is_baseline));
  for (const remedy_effect& e : m.remedies)
    if (e.failure.empty() && !is_baseline(e) && e.deciding().effect.pairs > 1)
      return fmt::format("Change nothing: the best of {} in {} is {}, {}.", counted(remedies, "remedy", "remedies"),
                         facts_of(m.decides).name, e.remedy.name, verdict_text(e.deciding()));
  return "Change nothing: no remedy could be measured.";
}

/// Returns: " of the budget of 60 s"; empty if the rounds were given.
std::string of_budget(const char* word, const remedy_request& request) {
  return request.rounds != 0 ? "" : fmt::format(" {} the budget of {:.0f} s", word, request.seconds);
}

std::string open_sentence(const remedy_measurement& m, const remedy_request& request) {
  const rounds_played& played = m.screened.runs.played;
  const double warming = std::max(0.0, m.seconds - played.seconds - m.confirmed.runs.played.seconds);
  if (played.rounds == 0)
    return fmt::format("Undecided: no round of runs{}; a verdict needs {} at least (--budget {:.0f}s).",
                       of_budget("in", request), counted(m.wanted, "round"),
                       seconds_for(m.wanted, {.rounds = 1, .seconds = m.screened.seconds_of_round}, warming));
  std::string option = fmt::format("--budget {:.0f}s", seconds_for(m.wanted, played, warming));
  if (request.rounds != 0) option = fmt::format("--rounds {}", m.wanted);
  return fmt::format("Undecided: {} of runs{}; {}.", counted(played.rounds, "round"), of_budget("in", request),
                     wanted_text(m.wanted, "round", option));
}

std::string method(const remedy_measurement& m, const remedy_request& request) {
  const std::size_t again = m.confirmed.runs.played.rounds;
  return fmt::format(
      "MEASURED on the unmodified program against itself as it is ({}, peak RSS {}): {} of {} in random "
      "order{}; {:.0f} s{}, --seed {}. {}; the intervals of each stage hold together with 95 %.",
      amount_text(m.first.cpu_ms, run_measure::cpu), amount_text(m.first.peak_bytes, run_measure::peak),
      counted(m.screened.runs.played.rounds, "round"), counted(m.screened.names.size() - 1, "run"),
      again == 0 ? ""
                 : fmt::format(", then of the best {} of {}", counted(again, "round"), m.confirmed.names.size() - 1),
      m.seconds, of_budget("of", request), request.seed, capital(facts_of(m.decides).name));
}

std::string row(const std::string& name, const std::string& text) {
  const std::string shown = shorten(name, name_width);
  return hanging("  " + shown + std::string(name_width + 2 - display_width(shown), ' '), text, page_width) + "\n";
}

std::string group_list(const remedy_measurement& m, double threshold) {
  if (m.groups.empty()) return "";
  std::vector<std::size_t> order(m.groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&m](std::size_t a, std::size_t b) {
    return m.groups[a].log_ratio.mean < m.groups[b].log_ratio.mean;
  });
  std::string text =
      "\n" + paragraph(fmt::format(
                 "Each group over an empty plan, from {} of runs by a random half of the groups and by the others:",
                 counted(m.group_pairs, "pair")));
  std::size_t leaving = 0;
  for (const std::size_t n : order) {
    const group_effect& group = m.groups[n];
    const finding verdict = verdict_of(group.log_ratio, threshold);
    if (verdict == finding::gain || ++leaving <= leaving_shown)
      text += row(group.name,
                  verdict_text(verdict, group.log_ratio) + (group.sites.empty() ? "" : "; sites: " + group.sites));
  }
  if (leaving > leaving_shown) text += fmt::format("  and {} more without a gain\n", leaving - leaving_shown);
  return text;
}

/// Returns: what would have been seen in each row that is undecided; empty if none is.
std::string open_note(const remedy_measurement& m, double threshold) {
  double detectable = 0;
  for (const remedy_effect& e : m.remedies)
    if (e.failure.empty() && e.deciding().effect.could_tell() && e.deciding().found == finding::undecided)
      detectable = std::max(detectable, e.deciding().effect.detectable());
  for (const group_effect& group : m.groups)
    if (verdict_of(group.log_ratio, threshold) == finding::undecided)
      detectable = std::max(detectable, group.detectable);
  return detectable == 0 ? "" : "Where it is undecided, " + seen_text(detectable) + ".";
}

std::string notes(const remedy_measurement& m, double threshold) {
  std::vector<std::string> all = m.notes;
  if (std::string open = open_note(m, threshold); !open.empty()) all.push_back(std::move(open));
  for (std::string& note : program_notes(m.first, m.first.cpu_ms)) all.push_back(std::move(note));
  if (m.decision != remedy_decision::unfit && m.itself.pairs > 1) all.push_back(itself_note(m.itself, the_program));
  return bullets(all);
}

constexpr detail::enum_table<remedy_decision, const char*> decisions = {"change nothing", "use the winner", "undecided",
                                                                        "unfit"};
constexpr detail::enum_table<remedy_kind, const char*> remedy_kinds = {"preload", "pages", "routes", "router"};

json over_json(const remedy_measurement& m, const std::optional<comparison>& effect,
               const std::optional<std::size_t>& baseline) {
  if (!effect) return nullptr;
  json j = comparison_json(*effect);
  j["confirmed"] = baseline && m.remedies[*baseline].confirmed;
  j["text"] = verdict_text(*effect);
  return j;
}

json to_json(const remedy_effect& e) {
  json j = {{"name", e.remedy.name},
            {"text", remedy_effect_text(e)},
            {"kind", remedy_kinds[e.remedy.kind]},
            {"library", e.remedy.side.library},
            {"use", e.remedy.kind == remedy_kind::router ? json() : json(e.remedy.side.shown)}};
  if (!e.failure.empty()) {
    j["failure"] = e.failure;
    return j;
  }
  if (!e.remedy.option.empty()) j["option"] = e.remedy.option;
  j["confirmed"] = e.confirmed;
  j["verdict"] = verdict_word(e.deciding().found);
  j["measures"] = comparisons_json(e.measures);
  return j;
}

json stage_json(const remedy_stage& stage) {
  const rounds_played& played = stage.runs.played;
  return {{"rounds", played.rounds},
          {"rounds_planned", or_null(played.planned)},
          {"seconds", played.seconds},
          {"runs", rounds_json(stage.runs, stage.names)}};
}

/// Returns: the median processor time of the program as it is, in milliseconds.
double as_it_is(const remedy_measurement& m) {
  return m.screened.runs.rounds.empty() ? m.first.cpu_ms : median_of(m.screened.runs.values(0, run_measure::cpu));
}

/// Returns: the line for a shell, never wrapped, and what it takes that no figure contains.
std::string use_text(const program_remedy& winner) {
  const std::string line = "To use it: " + winner.side.shown + "\n";
  if (winner.kind != remedy_kind::routes) return line;
  return line + paragraph("Each start of 'ashlar run' takes some milliseconds more than was measured; with --print it "
                          "prints a line that does not.");
}

}  // namespace

std::string remedy_sentence(const remedy_measurement& m, const remedy_request& request) {
  switch (m.decision) {
    case remedy_decision::use_winner: return effect_sentence(m, *m.winner);
    case remedy_decision::change_nothing: return nothing_sentence(m);
    case remedy_decision::undecided: return open_sentence(m, request);
    case remedy_decision::unfit: break;
  }
  return unfit_text(m.itself, m.decides, {"the program", the_program.unit, the_program.option});
}

std::string remedy_text(const remedy_measurement& m, const remedy_request& request) {
  std::string text = paragraph(remedy_sentence(m, request));
  if (m.winner) text += use_text(m.remedies[*m.winner].remedy);
  text += paragraph(over_memory(m, request)) + paragraph(over_best(m)) + "\n" + paragraph(method(m, request));
  for (const remedy_effect& e : m.remedies) text += row(e.remedy.name, remedy_effect_text(e));
  text += group_list(m, request.threshold);
  return text + notes(m, request.threshold);
}

int exit_status_of(remedy_decision decision) noexcept {
  if (decision == remedy_decision::undecided) return exit_undecided;
  return decision == remedy_decision::unfit ? exit_unfit : 0;
}

json remedy_json(const remedy_measurement& m, const remedy_request& request) {
  const auto name_at = [&m](const std::optional<std::size_t>& n) {
    return n ? json(m.remedies[*n].remedy.name) : json();
  };
  const auto of = [](const std::optional<comparison>& c) { return c ? comparison_json(*c) : json(); };
  json j = {{"level", "measured"},
            {"decision", decisions[m.decision]},
            {"sentence", remedy_sentence(m, request)},
            {"winner", name_at(m.winner)},
            {"fastest", name_at(m.fastest)},
            {"memory_price", or_null(request.memory_price)},
            {"best_without_code", name_at(m.best_without_code)},
            {"whole_plan", name_at(m.whole_plan)},
            {"plan", name_at(m.by_plan)},
            {"plan_over_best", of(m.over_best)},
            {"whole_plan_over_heap", over_json(m, m.over_heap, heap_alone(m))},
            {"empty_plan", name_at(m.empty_plan)},
            {"whole_plan_over_empty_plan", over_json(m, m.over_empty, m.empty_plan)},
            {"whole_plan_over_its_rest", of(m.whole_over_rest)},
            {"plan_on_pages_over_plan", of(m.pages_over_plan)},
            {"page_policy", name_at(page_policy_of(m, request.threshold))},
            {"plan_on_pages", name_at(m.plan_on_pages)},
            {"plan_on_pages_over_best", of(m.pages_over_best)},
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
            {"remedies", json::array()},
            {"groups", json::array()},
            {"group_pairs", m.group_pairs},
            {"no_plan", or_null(m.no_plan)},
            {"groups_budget_seconds", or_null(m.groups_budget)},
            {"against_itself", effect_json(m.itself)},
            {"screen", stage_json(m.screened)},
            {"confirmation", stage_json(m.confirmed)},
            {"notes", m.notes}};
  for (const remedy_effect& e : m.remedies) j["remedies"].push_back(to_json(e));
  for (const group_effect& group : m.groups)
    j["groups"].push_back(
        group_json(group, std::ranges::find(m.kept, group.groups.front()) != m.kept.end(), request.threshold));
  if (m.decision == remedy_decision::undecided) j["rounds_wanted"] = m.wanted;
  return j;
}

}  // namespace ashlar::cli
