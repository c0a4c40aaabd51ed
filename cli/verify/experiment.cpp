// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// run_experiment
// ├─ warm_up
// ├─ play_pair × 6
// ├─ pairs_after_pilot     deviation, seconds
// └─ play_pair × the rest
#include "cli/verify/experiment.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/rounds/effect.hpp"
#include "cli/span_clock/span_file.hpp"
#include "cli/support/companion.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t most_padding = 4096;  // bytes: a page, so that every offset of the stack occurs

using clock = std::chrono::steady_clock;

class pair_player {
public:
  explicit pair_player(const experiment_plan& plan) : plan_(&plan), random_(plan.seed), inputs_(plan.inputs) {
    if (inputs_.empty()) inputs_.emplace_back();
    if (plan.spans) clock_ = require_companion(span_library);
  }

  void warm_up() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      first_.push_back(run(plan_->a, i));
      if (first_[i].status >= exit_not_executable) throw std::runtime_error("A " + ending_of(first_[i]) + on_input(i));
      check_b(run(plan_->b, i), i);
    }
    all_.status = first_.front().status;
  }

  void play_pair() {
    const std::size_t number = all_.pairs.size();
    run_pair pair;
    pair.input = number % inputs_.size();
    pair.order = shuffled(std::string(repeats_a(number) ? "abc" : "ab"), random_);
    for (const char side : pair.order) {
      const program_run done = run(side == 'b' ? plan_->b : plan_->a, pair.input);
      if (side == 'b') check_b(done, pair.input);
      else check_a(done, pair.input);
      keep(done, side, pair);
    }
    all_.pairs.push_back(std::move(pair));
  }

  /// Throws: `different_program`, if only B ever printed something else.
  void refuse_other_output() const {
    if (!differs_.empty() && !all_.output_varies) throw different_program(differs_);
  }

  [[nodiscard]] experiment& all() noexcept { return all_; }
  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_.size(); }

private:
  void keep(const program_run& done, char side, run_pair& pair) {
    if (side == 'c') {
      pair.again = figures_of(done);
      return;
    }
    (side == 'a' ? pair.a : pair.b) = figures_of(done);
    (side == 'a' ? pair.spans_a : pair.spans_b) = std::exchange(last_spans_, {});
  }

  [[nodiscard]] program_run run(const program_side& side, std::size_t input) {
    const std::string& path = inputs_[input];
    if (!plan_->spans) return run_side(side, path, random_);
    program_runner runner(command_on(side, path), takes_path(side) ? "" : path);
    run_setting setting = setting_of(side, random_);
    const span_recording recording;
    setting.libraries.push_back(clock_);
    setting.variables.push_back(recording.variable());
    const program_run done = runner.run(setting);
    last_spans_ = recording.tails();
    return done;
  }

  void check_a(const program_run& run, std::size_t input) {
    if (run.status != first_[input].status)
      throw std::runtime_error("A does not end the same way each time: it " + ending_of(run) + on_input(input));
    all_.output_varies = all_.output_varies || !run.same_output(first_[input]);
  }

  void check_b(const program_run& run, std::size_t input) {
    if (run.status != first_[input].status)
      throw different_program("B does not end as A does: it " + ending_of(run) + on_input(input));
    if (!run.same_output(first_[input])) differs_ = "B prints something else than A" + on_input(input);
  }

  [[nodiscard]] std::string on_input(std::size_t input) const {
    return inputs_[input].empty() ? "" : " (on " + inputs_[input] + ")";
  }

  const experiment_plan* plan_;
  random_engine random_;
  std::vector<std::string> inputs_;
  std::vector<program_run> first_;  // of A, input by input
  std::string differs_;
  std::string clock_;      // the library that times spans
  span_tails last_spans_;  // of the last run
  experiment all_;
};

/// A pair after the pilot has fewer runs, on average.
double seconds_of_pair(const experiment& pilot, double seconds) {
  const double runs_in_pilot = 3, runs_later = 2 + 1.0 / pairs_per_repeat;
  return seconds / static_cast<double>(pilot.pairs.size()) * runs_later / runs_in_pilot;
}

/// Returns: the number of pairs, each input as often as the others if the budget permits.
std::size_t pairs_after_pilot(experiment& pilot, const experiment_plan& plan, std::size_t inputs, double seconds) {
  const std::vector<double> ratios = log_ratios(pilot.values(plan.decides, &run_pair::a),
                                                pilot.values(plan.decides, &run_pair::b), facts_of(plan.decides).floor);
  pilot.planned = (planned_pairs(deviation_of(ratios), pilot_pairs, plan.threshold) + inputs - 1) / inputs * inputs;
  const double left = std::max(0.0, plan.seconds - seconds) / seconds_of_pair(pilot, seconds);
  const auto affordable = pilot.pairs.size() + static_cast<std::size_t>(std::min(left, 1e6));
  return std::min(pilot.planned, affordable);
}

}  // namespace

run_setting setting_of(const program_side& side, random_engine& random) {
  run_setting setting{{side.library}, side.variables, side.most_seconds};
  setting.variables.emplace_back("ASHLAR_PADDING", std::string(1 + draw_below(random, most_padding), '-'));
  return setting;
}

program_run run_side(const program_side& side, const std::string& input, random_engine& random) {
  return program_runner(command_on(side, input), takes_path(side) ? "" : input).run(setting_of(side, random));
}

std::string difference_of(const program_run& run, const program_run& first) {
  if (run.killed) return "the program takes more than ten times as long";
  if (run.status != first.status) return "the program " + ending_of(run);
  return run.same_output(first) ? "" : "the program prints something else";
}

std::vector<double> experiment::values(run_measure m, const run_figures run_pair::* of) const {
  std::vector<double> all;
  for (const run_pair& pair : pairs) all.push_back(value_of(pair.*of, m));
  return all;
}

std::string progress_text(std::size_t pair, std::size_t pairs) {
  if (pair == 0) return "warming up";
  return pairs == 0 ? fmt::format("[pair {}, pilot]", pair) : fmt::format("[pair {} of {}]", pair, pairs);
}

experiment run_experiment(const experiment_plan& plan, const experiment_progress& progress) {
  pair_player player(plan);
  experiment& all = player.all();
  progress(0, 0);
  player.warm_up();
  const auto start = clock::now();
  const auto seconds = [start] { return std::chrono::duration<double>(clock::now() - start).count(); };
  const auto play_until = [&](std::size_t pairs, std::size_t of) {
    while (all.pairs.size() < pairs) {
      progress(all.pairs.size() + 1, of);
      player.play_pair();
    }
    player.refuse_other_output();
  };
  play_until(pilot_pairs, plan.pairs);
  const std::size_t pairs = plan.pairs != 0 ? plan.pairs : pairs_after_pilot(all, plan, player.inputs(), seconds());
  play_until(pairs, pairs);
  if (plan.pairs != 0) all.planned = plan.pairs;
  all.seconds = seconds();
  return std::move(all);
}

namespace {

[[noreturn]] void fail_on_spans() {
  throw std::runtime_error(std::string("cannot make the file of spans: ") + std::strerror(errno));
}

struct unmap {
  void operator()(span_file* file) const noexcept { ::munmap(file, sizeof(span_file)); }
};

std::unique_ptr<span_file, unmap> map_spans(int descriptor) {
  void* const pages = ::mmap(nullptr, sizeof(span_file), PROT_READ, MAP_SHARED, descriptor, 0);
  if (pages == MAP_FAILED) fail_on_spans();
  return std::unique_ptr<span_file, unmap>(static_cast<span_file*>(pages));
}

}  // namespace

span_recording::span_recording() {
  file_.write(std::as_bytes(std::span(&span_file_magic, 1)));
  if (::ftruncate(file_.descriptor(), static_cast<off_t>(sizeof(span_file))) != 0) fail_on_spans();
}

std::pair<std::string, std::string> span_recording::variable() const {
  return {span_file_variable, std::to_string(file_.descriptor())};
}

span_tails span_recording::tails() const {
  const auto file = map_spans(file_.descriptor());
  std::array<std::vector<double>, most_span_names> durations;
  const std::size_t used = std::min<std::size_t>(file->used.load(), most_spans);
  for (std::size_t i = 0; i < used; ++i) {
    const std::uint64_t entry = file->durations[i].load(std::memory_order_relaxed);
    const std::uint64_t ns = entry & ((std::uint64_t{1} << span_name_shift) - 1);
    durations[(entry >> span_name_shift) % most_span_names].push_back(static_cast<double>(ns));
  }
  span_tails all;
  for (std::size_t i = 0; i < most_span_names; ++i)
    if (!durations[i].empty()) all[file->names[i].text.data()] = nearest_rank_99(durations[i]);
  return all;
}

}  // namespace ashlar::cli
