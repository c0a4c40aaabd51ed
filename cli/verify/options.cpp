// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads numbers of pairs, percentages, times and names of measures.
#include "cli/verify/experiment.hpp"

#include <charconv>

#include "cli/support/parse.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* automatic = "auto";

std::string check_runs(const std::string& text) {
  std::size_t runs = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), runs);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (text == automatic || (whole && runs > pilot_rounds && runs <= most_rounds)) return {};
  return fmt::format("'{}' is neither auto nor a number from {} to {}", text, pilot_rounds + 1, most_rounds);
}

/// Returns: the share that "1%" or "1" is; 0 if it is none.
double share_of(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && percent >= 0.01 && percent <= 100 ? percent / 100 : 0;
}

std::string check_threshold(const std::string& text) {
  return share_of(text) != 0 ? "" : "'" + text + "' is no percentage from 0.01% to 100%";
}

std::string check_rare(const std::string& text) {
  const double share = share_of(text);
  return share != 0 && pairs_that_meet(share) <= most_rounds ? "" : "'" + text + "' is no percentage from 0.3% to 100%";
}

std::string check_metric(const std::string& text) {
  return text == "cpu" || text == "wall" || text == "peak" ? "" : "'" + text + "' is none of cpu, wall, peak";
}

run_measure measure_of(const std::string& metric) {
  if (metric == "wall") return run_measure::wall;
  return metric == "peak" ? run_measure::peak : run_measure::cpu;
}

}  // namespace

void add_experiment_options(CLI::App& app, experiment_options& o) {
  add_value(app, "--runs N", o.runs, "Pairs of runs, 7 to 1000; auto: as many as a pilot of 6 asks for")
      ->check(check_runs)
      ->capture_default_str();
  o.budget_option = add_value(app, "--budget TIME", o.budget,
                              "With --runs auto, stop after this time (20s, 2m); the pilot is run anyway")
                        ->check(check_budget)
                        ->capture_default_str();
  o.rare_option = add_value(app, "--rare PERCENT", o.rare,
                            "A and B are level only after enough pairs to meet slow runs of this share: 60 for 5%")
                      ->check(check_rare)
                      ->capture_default_str();
  add_judging_options(app, o);
  app.final_callback([&o] {
    if (o.runs != automatic && o.budget_option->count() != 0)
      throw CLI::ValidationError("--budget is for --runs auto: " + counted(std::stoull(o.runs),
                                                                           "pair takes the time that it takes",
                                                                           "pairs take the time that they take"));
  });
}

void add_judging_options(CLI::App& app, experiment_options& o) {
  add_value(app, "--threshold PERCENT", o.threshold, "A smaller difference does not matter")
      ->check(check_threshold)
      ->capture_default_str();
  add_value(app, "--metric NAME", o.metric, "What decides: cpu (user and system time), wall, or peak (resident memory)")
      ->check(check_metric)
      ->capture_default_str();
  o.seed_option =
      add_value(app, "--seed N", o.seed, "Of the order of the runs, to repeat it (default: a random one, printed)")
          ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 53));
}

void apply(const experiment_options& o, experiment_plan& plan) {
  plan.threshold = share_of(o.threshold);
  plan.rare = share_of(o.rare);
  plan.seconds = budget_seconds(o.budget);
  plan.decides = measure_of(o.metric);
  plan.pairs = o.runs == automatic ? 0 : std::stoul(o.runs);
  plan.seed = o.seed_option->count() != 0 ? o.seed : std::random_device()();
}

}  // namespace ashlar::cli
