// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// No interval is printed of rounds that are too few for one: it would promise too much.
#include "cli/rounds/text.hpp"

#include <cmath>

#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

std::string points(double log_ratio) {
  const double percent = 100 * std::expm1(log_ratio);
  const double shown = std::round(10 * percent) / 10 + 0.0;  // no -0.0
  return std::abs(shown) < 99.95 ? fmt::format("{:+.1f}", shown) : fmt::format("{:+.0f}", percent);
}

std::string in_brackets(const named_comparison& c) { return change_text(c.found->effect) + " " + c.name; }

std::string in_plain_words(const named_comparison& c) {
  const double percent = 100 * std::expm1(c.found->effect.log_ratio.mean), change = std::abs(percent);
  return fmt::format("{:.{}f} % {} {}", change, change < 9.95 ? 1 : 0, percent < 0 ? "less" : "more", c.plain);
}

using comparison_words = std::string (*)(const named_comparison&);

std::string all_that_are(finding wanted, const std::vector<named_comparison>& all, comparison_words words) {
  std::string text;
  for (const named_comparison& each : all)
    if (each.found->found == wanted) text += (text.empty() ? "" : ", ") + words(each);
  return text;
}

std::string gains_and_losses(const std::vector<named_comparison>& all, comparison_words words) {
  const std::string gains = all_that_are(finding::gain, all, words), losses = all_that_are(finding::loss, all, words);
  return gains.empty() || losses.empty() ? gains + losses : gains + "; but " + losses;
}

}  // namespace

std::string share_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string change_text(double log_ratio) { return points(log_ratio) + " %"; }

std::string change_text(const mean_interval& e) {
  return fmt::format("{} % [{}, {}]", points(e.mean), points(e.least), points(e.greatest));
}

std::string change_text(const paired_effect& effect) {
  return effect.could_tell() ? change_text(effect.log_ratio) : change_text(effect.log_ratio.mean);
}

std::string amount_text(double value, run_measure m) {
  if (m == run_measure::peak || m == run_measure::after) return human_bytes(value);
  return m == run_measure::faults ? human_count(value) : human_time(1e6 * value);
}

std::string confidence_text(double error) { return fmt::format("{:.4g} %", std::round(1000 * (1 - error)) / 10); }

std::string seen_text(double detectable) {
  if (shows_multiples_alone(detectable))
    return "neither twice nor half the time would have been seen: the runs vary too much";
  return fmt::format("anything above {} would have been seen", share_text(detectable));
}

std::string verdict_text(finding verdict, const mean_interval& log_ratio) {
  return fmt::format("{}: {}", verdict_word(verdict), change_text(log_ratio));
}

std::string verdict_text(const comparison& c) {
  if (c.effect.pairs < 2) return "not measured: too few rounds";
  if (c.effect.could_tell()) return verdict_text(c.found, c.effect.log_ratio);
  return fmt::format("undecided: {} on average of {}, too few for an interval", change_text(c.effect.log_ratio.mean),
                     counted(c.effect.pairs, "round"));
}

std::string findings_text(const std::vector<named_comparison>& all, bool tells_undecided) {
  const std::string open = all_that_are(finding::undecided, all, in_brackets);
  std::string text = gains_and_losses(all, in_brackets);
  if (tells_undecided && !open.empty()) text += (text.empty() ? "undecided: " : "; undecided: ") + open;
  return text;
}

std::string plain_text(const std::vector<named_comparison>& all) {
  return fmt::format("{} ({})", gains_and_losses(all, in_plain_words), gains_and_losses(all, in_brackets));
}

std::string beside_text(const std::vector<named_comparison>& all) {
  const std::string text = findings_text(all, false);
  if (text.empty()) return "";
  return (all_that_are(finding::gain, all, in_brackets).empty() ? "; but " : "; ") + text;
}

std::string wanted_text(std::size_t wanted, const char* unit, const std::string& option) {
  if (wanted > most_rounds) return "more than " + counted(most_rounds, unit) + " would decide";
  return fmt::format("about {}{} would decide", counted(wanted, unit), option.empty() ? "" : " (" + option + ")");
}

double seconds_for(std::size_t wanted, const rounds_played& played, double before) {
  return std::ceil(before + 1.1 * played.seconds_of_round() * static_cast<double>(wanted)) + 1;
}

std::string unfit_text(const paired_effect& itself, run_measure decides, const repeated_side& side) {
  return fmt::format("No verdict, the machine is unfit: {} differs from itself, {} {} in {}.", side.name,
                     change_text(itself.log_ratio), facts_of(decides).name, counted(itself.pairs, side.unit));
}

std::string itself_note(const paired_effect& itself, const repeated_side& side) {
  if (!itself.could_tell())
    return fmt::format("{} against itself: {} on average of {}, too few to tell a difference: {} {} could.", side.name,
                       change_text(itself.log_ratio.mean), counted(itself.pairs, side.unit), side.option,
                       rounds_with_repeats(pairs_for_difference(itself.error)));
  return fmt::format("{} against itself: {} in {} ({}), which is no difference.", side.name,
                     change_text(itself.log_ratio), counted(itself.pairs, side.unit), confidence_text(itself.error));
}

std::vector<std::string> program_notes(const program_run& first, double cpu_ms) {
  std::vector<std::string> notes;
  if (first.status != 0)
    notes.push_back(fmt::format("The program ends with status {}, each time{}.", first.status,
                                first.last_words.empty() ? "" : ": " + first.last_words));
  if (cpu_ms < 10)
    notes.emplace_back(
        "A run takes less than 10 ms: much of it is the start of the program. A larger input tells more.");
  return notes;
}

json effect_json(const paired_effect& effect) {
  const mean_interval& e = effect.log_ratio;
  json j = {{"pairs", effect.pairs},          {"ratio", std::exp(e.mean)}, {"interval", nullptr},
            {"confidence", 1 - effect.error}, {"chance", effect.chance},   {"log_deviation", effect.deviation},
            {"detectable", nullptr}};
  if (effect.pairs < 2) return j;
  j["interval"] = {std::exp(e.least), std::exp(e.greatest)};
  j["detectable"] = effect.detectable();
  return j;
}

json comparison_json(const comparison& c) {
  json j = effect_json(c.effect);
  j["a"] = c.a;
  j["b"] = c.b;
  j["verdict"] = verdict_word(c.found);
  return j;
}

json comparisons_json(const measure_comparisons& all) {
  json j;
  for (const run_measure m : run_measures) j[facts_of(m).key] = comparison_json(all[m]);
  return j;
}

json rounds_json(const program_rounds& all, const std::vector<std::string>& names) {
  const auto figures = [](const run_figures& run) {
    json j;
    for (const run_measure m : run_measures) j[facts_of(m).key] = run[m];
    return j;
  };
  json rounds = json::array();
  for (const program_round& round : all.rounds) {
    json j = {{"order", round.order}, {"input", round.input}};
    for (std::size_t i = 0; i < round.sides.size(); ++i) {
      j[names[i]] = figures(round.sides[i]);
      if (!round.spans[i].empty()) j["p99_ns_of_spans"][names[i]] = round.spans[i];
    }
    if (round.again) j[names.back()] = figures(*round.again);
    rounds.push_back(std::move(j));
  }
  return rounds;
}

}  // namespace ashlar::cli
