// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which remedy gains most for an unchanged program, measured on the program itself within a budget of seconds.
//
//   screen    rounds of the program as it is, under each remedy without code, and by the plan
//   groups    pairs of runs with a random half of the plan's groups, as many single ones as the budget tells
//             apart and the others together; those without a gain leave the plan
//   confirm   fresh rounds of the best without code, the plan, what is left of it, and that with a page policy
//             for the other sites, so that the choice of the best in the screen does not flatter it
//
// A budget that has no room for the later stages leaves all of it to the screen.
#pragma once

#include "cli/rounds/player.hpp"
#include "cli/routes/plan.hpp"
#include "cli/verify/attribute.hpp"

namespace ashlar::cli {

enum class remedy_kind {
  preload,
  pages,
  routes,
  router  ///< With an empty plan: the baseline of what plans add, and no remedy itself.
};

struct program_remedy {
  remedy_kind kind = remedy_kind::preload;
  std::string name;         ///< "preload mimalloc".
  program_side side = {};   ///< `side.shown` is the command line to use it.
  std::string policy = {};  ///< For the pages of libashlar.so: "populated pages".
  std::string option = {};  ///< Its word: "populate=1".
};

/// Returns: the program by the plan of `routed`, in the file `path`, with the page policy for sites outside the plan.
[[nodiscard]] program_remedy with_page_policy(program_remedy routed, const program_remedy& pages,
                                              const std::string& path);

struct remedy_request {
  std::vector<std::string> command;
  std::string input = {};      ///< The file of the standard input; empty: none.
  std::string directory = {};  ///< Of the program; empty: this one.
  std::uint64_t events = 0;    ///< Of the recorded run, which the program has to repeat; 0: it need not.
  route_plan routes = {};      ///< For this build of the program; without groups there is nothing to route.
  std::string plan = "PLAN";   ///< The file of the plan, for the command lines that are printed.
  std::size_t rounds = 0;      ///< Of each stage, exactly; 0: as many as the seconds allow.
  double seconds = 60;
  double spent = 0;  ///< Of these, before the measurement.
  std::uint64_t seed = 0;
  double threshold = 0.01;  ///< A smaller share does not matter.
  double memory_price = 0;  ///< Per cent of peak RSS that one of time may cost; 0: see `least_memory_of`.
  run_measure decides = run_measure::cpu;
  bool only_mallocs = false;           ///< Neither page policies nor routes.
  std::vector<std::string> with = {};  ///< Names or paths of the mallocs; empty: each that the machine has.
};

/// A remedy against the program as it is.
struct remedy_effect {
  program_remedy remedy;
  std::string failure;  ///< If not empty, no other member is valid.
  measure_comparisons measures = {};
  run_measure decides = run_measure::cpu;
  bool confirmed = false;                ///< In rounds after the choice.
  std::vector<std::size_t> groups = {};  ///< Of the plan that it routes by.

  [[nodiscard]] const comparison& deciding() const noexcept { return measures[decides]; }
};

/// Rounds of the program as it is, the first side, and under some remedies.
struct remedy_stage {
  program_rounds runs = {};
  std::vector<std::string> names = {"as it is"};  ///< Of the sides, and of the first one again.
  double seconds_of_round = 0;                    ///< Estimated before the first.
};

enum class remedy_decision { change_nothing, use_winner, undecided, unfit };

struct remedy_measurement {
  std::vector<remedy_effect> remedies;  ///< The greatest gain first, then those that failed.
  std::vector<group_effect> groups;     ///< Each group of the plan is in one; empty: not measured.
  std::size_t group_pairs = 0;
  double groups_budget = 0;       ///< Seconds with room for each group, if these had none; else 0.
  std::size_t plan_groups = 0;    ///< Of the whole plan.
  std::vector<std::size_t> kept;  ///< The groups of the plan that is left.
  std::string no_plan;            ///< Why no group is left of a plan; empty: some are, or there was none.
  std::string plan_failure;       ///< If not empty: the program fails under the plan.
  remedy_decision decision = remedy_decision::undecided;
  run_measure decides = run_measure::cpu;
  std::optional<std::size_t> winner;             ///< Of the remedies.
  std::optional<std::size_t> fastest;            ///< Of those without a plan; when decided, of those that gain.
  std::optional<std::size_t> best_without_code;  ///< `named_without_code`.
  std::optional<std::size_t> frugal;             ///< Other than the fastest, by `least_memory_of`.
  std::optional<std::size_t> whole_plan;         ///< Whether it works or not.
  std::optional<std::size_t> empty_plan;         ///< The router with an empty plan.
  std::optional<std::size_t> rest_of_plan;       ///< Its groups that gain.
  std::optional<std::size_t> by_plan;            ///< The plan that is left.
  std::optional<std::size_t> plan_on_pages;      ///< A plan, and the heap of the other sites with a page policy.
  std::optional<comparison> over_best;           ///< That plan against the best without code, by what decides.
  std::optional<comparison> over_heap;           ///< The whole plan against libashlar.so.
  std::optional<comparison> over_empty;          ///< The whole plan against the router with an empty one.
  std::optional<comparison> whole_over_rest;     ///< The whole plan against the groups that gain.
  std::optional<comparison> pages_over_plan;     ///< The plan with a page policy against the plan that is left.
  std::optional<comparison> pages_over_best;     ///< And against the best without code.
  paired_effect itself;                          ///< The program as it is against itself.
  program_run first;                             ///< As it is.
  remedy_stage screened;
  remedy_stage confirmed;
  std::size_t least_rounds = 0;      ///< With fewer there is no verdict.
  std::size_t least_confirming = 0;  ///< With fewer nothing is confirmed.
  std::size_t wanted = 0;            ///< If undecided: rounds that would decide.
  double seconds = 0;
  std::vector<std::string> notes;

  /// Returns: the numbers of all groups of the whole plan.
  [[nodiscard]] std::vector<std::size_t> groups_of_plan() const {
    std::vector<std::size_t> all(plan_groups);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }
};

/// Effects: runs the program. Throws: `std::runtime_error` if it dies, does not start, or differs each time.
[[nodiscard]] remedy_measurement measure_remedies(const remedy_request& request);

/// Returns: of those that `may` and did not fail, the remedy with the least mean of what decides.
template <class May>
[[nodiscard]] std::optional<std::size_t> best_of(const remedy_measurement& all, May may) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < all.remedies.size(); ++i) {
    const remedy_effect& e = all.remedies[i];
    if (!e.failure.empty() || e.deciding().effect.pairs == 0 || !may(e)) continue;
    if (!best || e.deciding().effect.log_ratio.mean < all.remedies[*best].deciding().effect.log_ratio.mean) best = i;
  }
  return best;
}

/// Returns: of the remedies that `may`, the one to name. Without a price: of those whose intervals overlap that of the
/// one with the least mean, the one with the least peak RSS, as which of them takes less time is not known. With one:
/// of all the one with the least peak RSS + price * time, in logarithms. Those within the threshold of it are equal,
/// and the least mean decides.
[[nodiscard]] std::optional<std::size_t> least_memory_of(const remedy_measurement& all, double threshold, double price,
                                                         const std::function<bool(const remedy_effect&)>& may);

/// Returns: whether it needs no plan.
[[nodiscard]] inline bool is_without_plan(const remedy_effect& e) noexcept {
  return e.remedy.kind == remedy_kind::preload || e.remedy.kind == remedy_kind::pages;
}

/// Returns: whether a remedy gains, or may do so: its mean is a gain of the threshold or more.
[[nodiscard]] bool is_promising(const remedy_measurement& all, double threshold);

/// Returns: whether it is libashlar.so alone, also with a version behind its name.
[[nodiscard]] bool is_heap_alone(const program_remedy& remedy);

/// Returns: libashlar.so alone, whose heap serves what a plan does not route; nothing if it was not measured.
[[nodiscard]] std::optional<std::size_t> heap_alone(const remedy_measurement& all);

/// Returns: the page policy of libashlar.so with the least mean, if it gains the threshold over libashlar.so alone.
[[nodiscard]] std::optional<std::size_t> page_policy_of(const remedy_measurement& all, double threshold);

/// Returns: whether there is such a remedy, and it did not fail.
[[nodiscard]] inline bool works(const remedy_measurement& all, const std::optional<std::size_t>& n) {
  return n && all.remedies[*n].failure.empty();
}

/// Returns: the remedy that is named if no plan wins: of those that gain `least_memory_of`; if none gains, the one with
/// the least mean.
[[nodiscard]] std::optional<std::size_t> named_without_code(const remedy_measurement& all, double threshold,
                                                            double memory_price);

/// Effects: chooses the plan that is left: the smaller one, unless the whole one gains over it; and compares it, and
/// the plan with a page policy, with `named_without_code`. `compare`: of two confirmed remedies, the second against
/// the first.
void choose_plan(remedy_measurement& all, double threshold, double memory_price,
                 const std::function<comparison(std::size_t, std::size_t)>& compare);

/// Effects: decides, chooses the groups that are left of the plan, and sorts the remedies by their gain. A plan has to
/// gain over the remedy that is named without it, or to be the only one that gains; no group is left of one that does
/// not.
void decide(remedy_measurement& all, double threshold, double memory_price = 0);

/// Returns: the winner, or to change nothing, or the rounds that would decide.
[[nodiscard]] std::string remedy_sentence(const remedy_measurement& m, const remedy_request& request);

/// Returns: the sentence, then a line for each remedy and for each group, the greatest gain first, then notes.
[[nodiscard]] std::string remedy_text(const remedy_measurement& m, const remedy_request& request);

/// Returns: all of it, with every run.
[[nodiscard]] nlohmann::json remedy_json(const remedy_measurement& m, const remedy_request& request);

[[nodiscard]] int exit_status_of(remedy_decision decision) noexcept;

}  // namespace ashlar::cli
