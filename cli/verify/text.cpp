// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Changes are in percent of A, intervals in brackets.
#include "cli/verify/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/support/printable.hpp"
#include "cli/support/table.hpp"
#include "cli/support/table_units.hpp"
#include "cli/verify/experiment.hpp"

namespace ashlar::cli {

namespace {

std::string points(double share) {
  const double percent = 100 * share;
  const double shown = std::round(10 * percent) / 10 + 0.0;  // no -0.0
  return std::abs(shown) < 99.95 ? fmt::format("{:+.1f}", shown) : fmt::format("{:+.0f}", percent);
}

std::string interval(const median_interval& ratio) {
  return fmt::format("[{}, {}]", points(ratio.least - 1), points(ratio.greatest - 1));
}

/// Returns: the other measures of which B takes more than the threshold, after a semicolon.
std::string costs(const verification& v, const experiment_plan& plan) {
  std::string all;
  for (const run_measure m : {run_measure::cpu, run_measure::wall, run_measure::peak, run_measure::after})
    if (m != plan.decides && v.of(m).found == finding::loss)
      all +=
          fmt::format("{} {} {}", all.empty() ? "; but" : ",", facts_of(m).name, change_text(v.of(m).effect.ratio()));
  return all;
}

std::string slower_spans(const verification& v, const experiment_plan& plan) {
  std::string all;
  for (const span_effect& s : v.spans)
    if (s.found == finding::loss)
      all += fmt::format("{} {} of span {}", all.empty() ? "" : ",", change_text(s.effect.ratio()), printable(s.name));
  return fmt::format("B is worse: the 99th percentile{}; {} {}.", all, facts_of(plan.decides).name,
                     change_text(v.of(plan.decides).effect.ratio()));
}

std::string better_or_worse(const verification& v, const experiment_plan& plan) {
  const median_interval ratio = v.of(plan.decides).effect.ratio();
  const bool less = v.decision == verdict::better;
  return fmt::format("B is {}: {} {} {} {}{}.", name_of(v.decision), share_text(std::abs(ratio.median - 1)),
                     less ? "less" : "more", facts_of(plan.decides).name, interval(ratio), less ? costs(v, plan) : "");
}

std::string equivalent(const verification& v, const experiment_plan& plan) {
  return fmt::format("A and B are equivalent: {} {}, within {}{}.", change_text(v.of(plan.decides).effect.ratio()),
                     facts_of(plan.decides).name, share_text(plan.threshold), costs(v, plan));
}

/// Returns: "95 %", "98.3 %".
std::string confidence_text(double error) { return fmt::format("{:.4g} %", std::round(1000 * (1 - error)) / 10); }

std::string inconclusive(const verification& v, const experiment_plan& plan) {
  const measure_effect& main = v.of(plan.decides);
  const std::string more = v.wanted > most_rounds
                               ? "more than " + counted(most_rounds, "pair")
                               : fmt::format("about {} (--runs {})", counted(v.wanted, "pair"), v.wanted);
  const std::size_t least = pairs_for_difference(main.effect.error);
  const std::string few = main.effect.pairs >= least
                              ? ""
                              : fmt::format(", too few to tell a difference at {}, which takes {}",
                                            confidence_text(main.effect.error), least);
  return fmt::format("Inconclusive: {} {} after {}{}; {} would decide.", change_text(main.effect.ratio()),
                     facts_of(plan.decides).name, counted(main.effect.pairs, "pair"), few, more);
}

/// Returns: the first names, and the number of the others.
std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t most_shown = 3;
  std::string shown;
  for (std::size_t i = 0; i < std::min(names.size(), most_shown); ++i)
    shown += (i == 0 ? "" : ", ") + shorten(names[i], 40);
  return names.size() <= most_shown ? shown : fmt::format("{} and {} more", shown, names.size() - most_shown);
}

std::string why_incomplete(const verification& v) {
  if (!v.spans.empty()) {
    const paired_effect& tail = v.spans.front().effect;
    if (const std::size_t least = pairs_for_difference(tail.error); tail.pairs < least)
      return fmt::format("{} too few to tell a worse 99th percentile of {}, which takes {} (--runs {})",
                         counted(tail.pairs, "pair is", "pairs are"), counted(v.spans.size(), "span"), least, least);
  }
  return v.missing_spans.empty()
             ? "no span is in each run of A and B, so no 99th percentile was compared"
             : "B lacks spans of A, whose 99th percentile was not compared: " + names_text(v.missing_spans);
}

std::string incomplete(const verification& v, const experiment_plan& plan) {
  return fmt::format("Incomplete: {}; {} {}.", why_incomplete(v), facts_of(plan.decides).name,
                     change_text(v.of(plan.decides).effect.ratio()));
}

std::string modes_note(const char* side, const two_modes& m, run_measure measure) {
  const double all = static_cast<double>(m.low.runs + m.high.runs);
  return fmt::format("{} has two modes: {:.0f} % of the runs at {}, {:.0f} % at {}. A mean describes neither.", side,
                     100 * static_cast<double>(m.low.runs) / all, amount_text(m.low.centre, measure),
                     100 * static_cast<double>(m.high.runs) / all, amount_text(m.high.centre, measure));
}

std::string tail_note(const experiment& runs) {
  return fmt::format("For information: 99 % of the runs take at most {} (A) and {} (B) of wall time.",
                     amount_text(nearest_rank_99(runs.values(run_measure::wall, &run_pair::a)), run_measure::wall),
                     amount_text(nearest_rank_99(runs.values(run_measure::wall, &run_pair::b)), run_measure::wall));
}

void add_run_notes(std::vector<std::string>& notes, const verification& v, const experiment& runs,
                   const experiment_plan& plan) {
  if (plan.pairs == 0 && runs.planned > runs.pairs.size())
    notes.push_back(fmt::format("The pilot asked for {}; the budget of {} s was enough for {}.",
                                counted(runs.planned, "pair"), plan.seconds, runs.pairs.size()));
  if (v.of(run_measure::cpu).a < 10)
    notes.emplace_back(
        "A run takes less than 10 ms: much of it is the start of the program. A larger input tells more.");
  if (runs.output_varies) notes.emplace_back("A does not print the same each time, so the outputs were not compared.");
  if (runs.status != 0) notes.push_back(fmt::format("Both end with status {}, each time.", runs.status));
}

/// Returns: the measures that vary too much to show anything but a multiple; empty if there are none.
std::string varying_note(const verification& v) {
  std::string names;
  const auto append = [&names](bool varies, const std::string& name) {
    if (varies) names += (names.empty() ? "" : ", ") + name;
  };
  for (const run_measure m : run_measures) append(shows_multiples_alone(v.of(m).effect.detectable()), facts_of(m).name);
  for (const span_effect& s : v.spans)
    append(shows_multiples_alone(s.effect.detectable()), "p99 of " + shorten(s.name, 16));
  return names.empty()
             ? ""
             : fmt::format("Neither twice nor half as much would be seen of {}: the runs vary too much.", names);
}

}  // namespace

std::string change_text(const median_interval& ratio) {
  return fmt::format("{} % {}", points(ratio.median - 1), interval(ratio));
}

std::string share_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string detectable_text(double detectable) {
  return shows_multiples_alone(detectable) ? "above 100 %" : share_text(detectable);
}

std::string amount_text(double value, run_measure m) {
  if (m == run_measure::peak || m == run_measure::after) return human_bytes(value);
  return m == run_measure::faults ? human_count(value) : human_time(1e6 * value);
}

const char* word_of(finding f) noexcept {
  switch (f) {
    case finding::gain: return "less";
    case finding::loss: return "more";
    case finding::level: return "equal";
    case finding::undecided: break;
  }
  return "undecided";
}

const char* name_of(verdict decision) noexcept {
  switch (decision) {
    case verdict::better: return "better";
    case verdict::equivalent: return "equivalent";
    case verdict::worse: return "worse";
    case verdict::inconclusive: return "inconclusive";
    case verdict::incomplete: return "incomplete";
    case verdict::unfit: break;
  }
  return "unfit";
}

std::string unfit_text(const paired_effect& itself, run_measure decides, const repeated_side& side) {
  return fmt::format("No verdict, the machine is unfit: {} differs from itself, {} {} in {}.", side.name,
                     change_text(itself.ratio()), facts_of(decides).name, counted(itself.pairs, side.unit));
}

std::string itself_note(const paired_effect& itself, const repeated_side& side) {
  if (const std::size_t least = pairs_for_difference(itself.error); itself.pairs < least)
    return fmt::format("{} against itself: {} % on average of {}, too few to tell a difference: {} {} could.",
                       side.name, points(itself.ratio().median - 1), counted(itself.pairs, side.unit), side.option,
                       pairs_with_repeats(least));
  return fmt::format("{} against itself: {} in {} ({}), which is no difference.", side.name,
                     change_text(itself.ratio()), counted(itself.pairs, side.unit), confidence_text(itself.error));
}

std::string verdict_sentence(const verification& v, const experiment_plan& plan) {
  switch (v.decision) {
    case verdict::better: return better_or_worse(v, plan);
    case verdict::worse:
      return v.of(plan.decides).found == finding::loss ? better_or_worse(v, plan) : slower_spans(v, plan);
    case verdict::equivalent: return equivalent(v, plan);
    case verdict::inconclusive: return inconclusive(v, plan);
    case verdict::incomplete: return incomplete(v, plan);
    case verdict::unfit: break;
  }
  return unfit_text(v.itself, plan.decides);
}

std::string effect_table(const verification& v) {
  text_table table({{"", side::left},
                    {"A"},
                    {"B"},
                    {"B against A (" + confidence_text(v.measures.begin()->effect.error) + ")"},
                    {"detectable"},
                    {"B takes", side::left}});
  for (const run_measure m : run_measures) {
    const measure_effect& e = v.of(m);
    table.add({facts_of(m).name, amount_text(e.a, m), amount_text(e.b, m), change_text(e.effect.ratio()),
               detectable_text(e.effect.detectable()), word_of(e.found)});
  }
  for (const span_effect& s : v.spans)
    table.add({"p99 of " + shorten(s.name, 16), human_time(s.a), human_time(s.b), change_text(s.effect.ratio()),
               detectable_text(s.effect.detectable()), word_of(s.found)});
  return table.str();
}

std::vector<std::string> verify_notes(const verification& v, const experiment& runs, const experiment_plan& plan) {
  std::vector<std::string> notes;
  notes.push_back(fmt::format("{} in random order (--seed {}), {:.1f} s; {} decides. Detectable: if it is "
                              "there, the interval excludes 0 with 80 %.",
                              counted(runs.pairs.size(), "pair"), plan.seed, runs.seconds,
                              facts_of(plan.decides).name));
  if (v.decision != verdict::unfit) notes.push_back(itself_note(v.itself));
  if (v.modes_a) notes.push_back(modes_note("A", *v.modes_a, plan.decides));
  if (v.modes_b) notes.push_back(modes_note("B", *v.modes_b, plan.decides));
  add_run_notes(notes, v, runs, plan);
  if (std::string varying = varying_note(v); !varying.empty()) notes.push_back(std::move(varying));
  notes.push_back(tail_note(runs));
  if (!v.uneven_spans.empty())
    notes.push_back(fmt::format("Not compared, since some runs have no such span: {}.", names_text(v.uneven_spans)));
  notes.push_back(fmt::format("Not measured: {}cache misses, memory of more than the largest process.",
                              v.spans.empty() ? "latency within a run, " : ""));
  return notes;
}

}  // namespace ashlar::cli
