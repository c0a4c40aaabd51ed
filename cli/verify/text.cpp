// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words of each verdict.
#include "cli/verify/experiment.hpp"

#include <cmath>

#include "cli/rounds/effect.hpp"
#include "cli/rounds/text.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

constexpr detail::enum_table<verdict, const char*> names = {"gain",      "level",      "loss",
                                                            "undecided", "incomplete", "unfit"};

/// Returns: "-7.4 % [-10.7, -4.7] processor time".
std::string main_text(const verification& v, const experiment_plan& plan) {
  return change_text(v.measures[plan.decides].effect) + " " + facts_of(plan.decides).name;
}

/// Returns: what else is lost, and a gain of memory.
std::vector<named_comparison> beside(const verification& v, const experiment_plan& plan) {
  std::vector<named_comparison> all;
  for (const run_measure m : {run_measure::cpu, run_measure::wall, run_measure::peak, run_measure::after}) {
    const finding found = v.measures[m].found;
    if (m != plan.decides && (found == finding::loss || (found == finding::gain && m == run_measure::peak)))
      all.push_back(named(m, v.measures));
  }
  return all;
}

std::string gain_text(const verification& v, const experiment_plan& plan) {
  std::vector<named_comparison> all = beside(v, plan);
  all.insert(all.begin(), named(plan.decides, v.measures));
  return plain_text(all);
}

std::string loss_of_spans(const verification& v, const experiment_plan& plan) {
  std::vector<named_comparison> all;
  for (const span_effect& s : v.spans)
    if (s.found.found == finding::loss) all.push_back({"of span " + printable(s.name), &s.found});
  return fmt::format("Loss: the 99th percentile {}; {}.", findings_text(all, false), main_text(v, plan));
}

std::string rare_text(std::size_t pairs) {
  return fmt::format("a slow run rarer than 1 in {} would not have been met", pairs / 3);
}

std::string undecided(const verification& v, const experiment_plan& plan) {
  const auto& [a, b, e, between] = v.measures[plan.decides];
  std::string why, option = fmt::format("--runs {}", v.wanted);
  if (between == finding::level) {
    why = fmt::format(", within {}, but {}", share_text(plan.threshold), rare_text(e.pairs));
    option += fmt::format(", or --rare {:.0f}%", std::ceil(100 * rarest_met(e.pairs)));
  } else if (!e.could_tell()) {
    why = fmt::format(", too few to tell a difference at {}, which takes {}", confidence_text(e.error),
                      pairs_for_difference(e.error));
  }
  return fmt::format("Undecided: {} after {}{}; {}.", main_text(v, plan), counted(e.pairs, "pair"), why,
                     wanted_text(v.wanted, "pair", option));
}

/// Returns: the first names, and the number of the others.
std::string names_text(const std::vector<std::string>& all) {
  constexpr std::size_t most_shown = 3;
  std::string shown;
  for (std::size_t i = 0; i < std::min(all.size(), most_shown); ++i)
    shown += (i == 0 ? "" : ", ") + shorten(all[i], 40);
  return all.size() <= most_shown ? shown : fmt::format("{} and {} more", shown, all.size() - most_shown);
}

std::string why_incomplete(const verification& v) {
  if (!v.spans.empty() && !v.spans.front().found.effect.could_tell()) {
    const paired_effect& tail = v.spans.front().found.effect;
    return fmt::format("{} too few to tell a loss of the 99th percentile of {}, which takes {} (--runs {})",
                       counted(tail.pairs, "pair is", "pairs are"), counted(v.spans.size(), "span"),
                       pairs_for_difference(tail.error), pairs_for_difference(tail.error));
  }
  return v.missing_spans.empty()
             ? "no span is in each run of A and B, so no 99th percentile was compared"
             : "B lacks spans of A, whose 99th percentile was not compared: " + names_text(v.missing_spans);
}

std::string modes_note(const char* side, const two_modes& m, run_measure measure) {
  const double all = static_cast<double>(m.low.runs + m.high.runs);
  return fmt::format("{} has two modes: {:.0f} % of the runs at {}, {:.0f} % at {}. A mean describes neither.", side,
                     100 * static_cast<double>(m.low.runs) / all, amount_text(m.low.centre, measure),
                     100 * static_cast<double>(m.high.runs) / all, amount_text(m.high.centre, measure));
}

std::string tail_note(const program_rounds& runs) {
  const auto tail = [&runs](std::size_t side) {
    return amount_text(nearest_rank_99(runs.values(side, run_measure::wall)), run_measure::wall);
  };
  return fmt::format("For information: 99 % of the runs take at most {} (A) and {} (B) of wall time.", tail(0),
                     tail(1));
}

struct shown_comparison {
  std::string name;
  const comparison* found;
  std::string a, b;
};

std::vector<shown_comparison> shown(const verification& v) {
  std::vector<shown_comparison> rows;
  for (const run_measure m : run_measures)
    rows.push_back(
        {facts_of(m).name, &v.measures[m], amount_text(v.measures[m].a, m), amount_text(v.measures[m].b, m)});
  for (const span_effect& s : v.spans)
    rows.push_back({"p99 of " + shorten(s.name, 16), &s.found, human_time(s.found.a), human_time(s.found.b)});
  return rows;
}

/// Returns: the measures that vary too much to show anything but a multiple; empty if there are none.
std::string varying_note(const verification& v) {
  std::vector<std::string> all;
  for (const shown_comparison& row : shown(v))
    if (shows_multiples_alone(row.found->effect.detectable()))
      all.push_back(row.name.substr(row.name.find_first_not_of(' ')));
  if (all.empty()) return "";
  return fmt::format("The runs vary too much in {}: not even a factor of two would be seen.", fmt::join(all, ", "));
}

json modes_json(const std::optional<two_modes>& m) {
  if (!m) return nullptr;
  const auto mode = [](const run_mode& one) { return json{{"centre", one.centre}, {"runs", one.runs}}; };
  return {mode(m->low), mode(m->high)};
}

json side_json(const program_side& side) {
  return {{"command", side.command}, {"library", side.library}, {"shown", side.shown}};
}

}  // namespace

std::string verdict_sentence(const verification& v, const experiment_plan& plan) {
  const std::string main = main_text(v, plan);
  switch (v.decision) {
    case verdict::gain: return "Gain: " + gain_text(v, plan) + ".";
    case verdict::loss:
      return v.measures[plan.decides].found != finding::loss
                 ? loss_of_spans(v, plan)
                 : "Loss: " + plain_text({named(plan.decides, v.measures)}) + ".";
    case verdict::level:
      return fmt::format("Level: {}, within {}{}; {}.", main, share_text(plan.threshold), beside_text(beside(v, plan)),
                         rare_text(v.measures[plan.decides].effect.pairs));
    case verdict::undecided: return undecided(v, plan);
    case verdict::incomplete: return fmt::format("Incomplete: {}; {}.", why_incomplete(v), main);
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
                    {"verdict", side::left}});
  for (const shown_comparison& row : shown(v)) {
    const double detectable = row.found->effect.detectable();
    table.add({row.name, row.a, row.b, change_text(row.found->effect),
               shows_multiples_alone(detectable) ? "above 100 %" : share_text(detectable),
               verdict_word(row.found->found)});
  }
  return table.str();
}

std::vector<std::string> verify_notes(const verification& v, const experiment& found, const experiment_plan& plan) {
  const rounds_played& played = found.runs.played;
  std::vector<std::string> notes = {
      fmt::format("{} in random order (--seed {}), {:.1f} s; {} decides. Detectable: if it is there, the interval "
                  "excludes 0 with 80 %.",
                  counted(found.runs.rounds.size(), "pair"), plan.seed, played.seconds, facts_of(plan.decides).name)};
  const auto append = [&notes](bool holds, std::string note) {
    if (holds && !note.empty()) notes.push_back(std::move(note));
  };
  append(v.decision != verdict::unfit, itself_note(v.itself));
  if (v.modes_a) notes.push_back(modes_note("A", *v.modes_a, plan.decides));
  if (v.modes_b) notes.push_back(modes_note("B", *v.modes_b, plan.decides));
  append(plan.pairs == 0 && played.planned > played.rounds,
         fmt::format("{} planned; the budget of {} s was enough for {}.",
                     counted(played.planned, "pair was", "pairs were"), plan.seconds, played.rounds));
  append(found.output_varies, "A does not print the same each time, so the outputs were not compared.");
  for (std::string& note : program_notes(found.first, v.measures[run_measure::cpu].a)) notes.push_back(std::move(note));
  append(true, varying_note(v));
  notes.push_back(tail_note(found.runs));
  append(!v.uneven_spans.empty(),
         "Not compared, since some runs have no such span: " + names_text(v.uneven_spans) + ".");
  notes.push_back(fmt::format("Not measured: {}cache misses, memory of more than the largest process.",
                              v.spans.empty() ? "latency within a run, " : ""));
  return notes;
}

json verify_json(const verification& v, const experiment& found, const experiment_plan& plan) {
  json spans = json::object();
  for (const span_effect& s : v.spans) spans[s.name] = comparison_json(s.found);
  json j = {{"verdict", names[v.decision]},
            {"sentence", verdict_sentence(v, plan)},
            {"decides", facts_of(plan.decides).key},
            {"threshold", plan.threshold},
            {"rare", plan.rare},
            {"rarest_met", rarest_met(found.runs.rounds.size())},
            {"a", side_json(plan.a)},
            {"b", side_json(plan.b)},
            {"inputs", plan.inputs},
            {"seed", plan.seed},
            {"seconds", found.runs.played.seconds},
            {"status", found.first.status},
            {"output_varies", found.output_varies},
            {"pairs_planned", found.runs.played.planned},
            {"measures", comparisons_json(v.measures)},
            {"p99_ns_of_spans", std::move(spans)},
            {"spans_missing_in_b", v.missing_spans},
            {"a_against_a", effect_json(v.itself)},
            {"modes", {{"a", modes_json(v.modes_a)}, {"b", modes_json(v.modes_b)}}},
            {"runs", rounds_json(found.runs, {"a", "b", "c"})}};
  if (v.decision == verdict::undecided) j["pairs_wanted"] = v.wanted;
  return j;
}

}  // namespace ashlar::cli
