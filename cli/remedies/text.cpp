// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Changes are in percent of the program as it is, intervals in brackets.
#include "cli/remedies/text.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "cli/rounds/interval.hpp"
#include "cli/support/table.hpp"
#include "cli/support/table_units.hpp"
#include "cli/support/words.hpp"
#include "cli/verify/text.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t width = 100;
constexpr std::size_t name_width = 30;
constexpr std::size_t leaving_shown = 5;

std::string change_nothing(const median_interval& ratio, double detectable) {
  return fmt::format("change nothing: measured {}; {}", change_text(ratio), seen_text(detectable));
}

bool holds_zero(const mean_interval& log_ratio) { return log_ratio.least <= 0 && log_ratio.greatest >= 0; }

/// Returns: what the remedy changes of the resident memory, at the peak and after it.
std::string peak_text(const remedy_effect& e) {
  std::string all;
  for (const run_measure m : {run_measure::peak, run_measure::after}) {
    const measure_effect& found = e.of(m);
    if (m == e.decides) continue;
    if (found.found != finding::loss && found.found != finding::gain) continue;
    all += fmt::format("; {}{} {}", found.found == finding::loss ? "but " : "", facts_of(m).name,
                       change_text(found.effect.ratio()));
  }
  return all;
}

/// Returns: what the plan, with its page policy if that wins, adds to the best remedy without code, or takes away.
std::string over_best(const remedy_measurement& m) {
  const bool is_on_pages = m.winner && m.winner == m.plan_on_pages;
  const std::optional<measure_effect>& over = is_on_pages ? m.pages_over_best : m.over_best;
  const std::optional<std::size_t>& plan = is_on_pages ? m.plan_on_pages : m.by_plan;
  if (!over || !m.best_without_code) return "";
  const remedy_effect& without_code = m.remedies[*m.best_without_code];
  if (over->effect.pairs < m.least_rounds_of(without_code)) return "";
  const std::string change = change_text(over->effect.ratio());
  const std::string& best = without_code.remedy.name;
  const std::string routing = plan ? capital(m.remedies[*plan].remedy.name) : "Routing";
  switch (over->found) {
    case finding::gain: return fmt::format("{} adds to {}: {}.", routing, best, change);
    case finding::loss: return fmt::format("{} takes more than {}: {}.", routing, best, change);
    case finding::level: return fmt::format("{} adds nothing to {}: {}.", routing, best, change);
    case finding::undecided: break;
  }
  return fmt::format("{} adds nothing certain to {}: {}; {}.", routing, best, change,
                     seen_text(over->effect.detectable()));
}

std::string winner_sentence(const remedy_measurement& m) {
  const remedy_effect& e = m.remedies[*m.winner];
  return fmt::format("{}: {} {}{}.", capital(e.remedy.name), change_text(e.deciding().effect.ratio()),
                     facts_of(m.decides).name, peak_text(e));
}

std::string nothing_sentence(const remedy_measurement& m) {
  for (const remedy_effect& e : m.remedies)
    if (e.failure.empty() && e.deciding().effect.pairs > 1)
      return fmt::format("Change nothing: of {} the best is {}, measured {} {}; {}.",
                         counted(m.remedies.size(), "remedy", "remedies"), e.remedy.name,
                         change_text(e.deciding().effect.ratio()), facts_of(m.decides).name,
                         seen_text(e.deciding().effect.detectable()));
  return "Change nothing: no remedy could be measured.";
}

std::string open_sentence(const remedy_measurement& m, const remedy_request& request) {
  const double each = m.screened.played == 0 ? 0 : m.screened.seconds / static_cast<double>(m.screened.played);
  const std::string more =
      (m.wanted > most_rounds ? "more than " : "about ") + counted(std::min(m.wanted, most_rounds), "round");
  const double warming = std::max(0.0, m.seconds - m.screened.seconds - m.confirmed.seconds);
  const double seconds = std::ceil(warming + 1.1 * each * static_cast<double>(m.wanted)) + 1;
  std::string option = fmt::format(" (--budget {:.0f}s)", seconds);
  if (request.rounds != 0) option = fmt::format(" (--rounds {})", m.wanted);
  if (each == 0 || m.wanted > most_rounds) option.clear();
  return fmt::format("Inconclusive: {} of runs{}; {} would decide{}.", counted(m.screened.played, "round"),
                     request.rounds != 0 ? "" : fmt::format(" in the budget of {:.0f} s", request.seconds), more,
                     option);
}

/// Returns: the method in a sentence.
std::string method(const remedy_measurement& m, const remedy_request& request) {
  std::string text =
      fmt::format("MEASURED on the unmodified program against itself as it is ({}, peak RSS {}): {} of {} in "
                  "random order",
                  amount_text(m.first.cpu_ms, run_measure::cpu), amount_text(m.first.peak_bytes, run_measure::peak),
                  counted(m.screened.played, "round"), counted(m.screened_names.size(), "run"));
  if (m.confirmed.played != 0)
    text += fmt::format(", then of the best {} of {}", counted(m.confirmed.played, "round"), m.confirmed_names.size());
  return text + fmt::format("; {:.0f} s{}, --seed {}. {}; the intervals of each stage hold together with 95 %.",
                            m.seconds,
                            request.rounds != 0 ? "" : fmt::format(" of the budget of {:.0f} s", request.seconds),
                            request.seed, capital(facts_of(m.decides).name));
}

std::string row(const std::string& name, const std::string& text) {
  const std::string shown = shorten(name, name_width);
  return hanging("  " + shown + std::string(name_width + 2 - display_width(shown), ' '), text, width) + "\n";
}

std::string group_list(const remedy_measurement& m) {
  if (m.groups.empty()) return "";
  std::vector<std::size_t> order(m.groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&m](std::size_t a, std::size_t b) {
    return m.groups[a].log_ratio.mean < m.groups[b].log_ratio.mean;
  });
  std::string text = "\n" +
                     wrapped(fmt::format("Each group of the plan, from {} of runs with a random half of them:",
                                         counted(m.group_pairs, "pair")),
                             width) +
                     "\n";
  std::size_t leaving = 0;
  for (const std::size_t n : order) {
    const group_effect& group = m.groups[n];
    if (group.stays() || ++leaving <= leaving_shown)
      text += row(group.name, group_text(group) + (group.sites.empty() ? "" : "; sites: " + group.sites));
  }
  if (leaving > leaving_shown) text += fmt::format("  and {} more without a gain\n", leaving - leaving_shown);
  return text;
}

std::string notes(const remedy_measurement& m) {
  std::vector<std::string> all = m.notes;
  if (m.first.status != 0)
    all.push_back(fmt::format("It ends with status {}, each time{}.", m.first.status,
                              m.first.last_words.empty() ? "" : ": " + m.first.last_words));
  if (m.first.cpu_ms < 10)
    all.emplace_back("A run takes less than 10 ms: much of it is the start of the program. A larger input tells more.");
  if (m.decision != remedy_decision::unfit && m.itself.pairs > 1)
    all.push_back(itself_note(m.itself, {"The program", "round", "--rounds"}));
  std::string text;
  for (const std::string& note : all) text += wrapped("· " + note, width, "  ") + "\n";
  return text;
}

}  // namespace

std::string effect_text(const remedy_effect& e, std::size_t least) {
  if (!e.failure.empty()) return "not measured: " + e.failure;
  return time_text(e.deciding().effect, least) +
         (e.deciding().effect.pairs < std::max<std::size_t>(least, 2) ? "" : peak_text(e));
}

/// An interval from fewer than `least` rounds would promise too much.
std::string time_text(const paired_effect& cpu, std::size_t least) {
  if (cpu.pairs < 2) return "not measured: too few rounds";
  if (cpu.pairs < least)
    return fmt::format("undecided: {:+.1f} % on average of {}, too few for an interval",
                       100 * std::expm1(cpu.log_ratio.mean), counted(cpu.pairs, "round"));
  if (holds_zero(cpu.log_ratio)) return change_nothing(cpu.ratio(), cpu.detectable());
  const char* const word = cpu.log_ratio.mean > 0 ? "worse: " : "";
  return fmt::format("{}{}; {}", word, change_text(cpu.ratio()), seen_text(cpu.detectable()));
}

std::string group_text(const group_effect& group) {
  const mean_interval& e = group.log_ratio;
  const median_interval ratio = e.ratio();
  if (holds_zero(e)) return change_nothing(ratio, group.detectable);
  return (e.mean > 0 ? "worse: " : "") + change_text(ratio) + "; " + seen_text(group.detectable);
}

std::string remedy_sentence(const remedy_measurement& m, const remedy_request& request) {
  switch (m.decision) {
    case remedy_decision::use_winner: return winner_sentence(m);
    case remedy_decision::change_nothing: return nothing_sentence(m);
    case remedy_decision::inconclusive: return open_sentence(m, request);
    case remedy_decision::unfit: break;
  }
  return unfit_text(m.itself, m.decides, {"the program", "round", "--rounds"});
}

std::string remedy_text(const remedy_measurement& m, const remedy_request& request) {
  std::string text = wrapped(remedy_sentence(m, request), width) + "\n";
  if (m.winner) text += "To use it: " + m.remedies[*m.winner].remedy.side.shown + "\n";  // one line, for a shell
  if (const std::string over = over_best(m); !over.empty()) text += wrapped(over, width) + "\n";
  text += "\n" + wrapped(method(m, request), width) + "\n";
  for (const remedy_effect& e : m.remedies) text += row(e.remedy.name, effect_text(e, m.least_rounds_of(e)));
  text += group_list(m);
  return text + notes(m);
}

int exit_status_of(remedy_decision decision) noexcept {
  if (decision == remedy_decision::inconclusive) return exit_inconclusive;
  return decision == remedy_decision::unfit ? exit_unfit : 0;
}

std::optional<seen_effect> seen_effect_of(const remedy_measurement& m) {
  std::vector<double> all;
  for (const group_effect& group : m.groups) all.push_back(group.detectable);
  if (!all.empty()) return seen_effect{median_of(all), m.group_pairs, true};
  std::vector<double> pairs;
  for (const remedy_effect& e : m.remedies) {
    if (!e.failure.empty() || e.deciding().effect.pairs < std::max<std::size_t>(m.least_rounds_of(e), 2)) continue;
    all.push_back(e.deciding().effect.detectable());
    pairs.push_back(static_cast<double>(e.deciding().effect.pairs));
  }
  if (all.empty()) return std::nullopt;
  return seen_effect{median_of(all), static_cast<std::size_t>(median_of(pairs)), false};
}

std::string seen_text(double detectable) {
  if (shows_multiples_alone(detectable))
    return "neither twice nor half the time would have been seen: the runs vary too much";
  return fmt::format("anything above {} would have been seen", share_text(detectable));
}

}  // namespace ashlar::cli
