// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Interleaves the runs, and refuses candidates under which the program behaves otherwise.
#include "cli/try/trial.hpp"

#include <algorithm>
#include <stdexcept>

namespace ashlar::cli {

namespace {

void add(trial& t, const program_run& run) {
  t.rounds[static_cast<std::size_t>(program_measure::cpu)].push_back(run.cpu_ms);
  t.rounds[static_cast<std::size_t>(program_measure::wall)].push_back(run.wall_ms);
  t.rounds[static_cast<std::size_t>(program_measure::peak)].push_back(run.peak_bytes);
  t.system_ms.push_back(run.system_ms);
  t.faults.push_back(run.faults);
}

/// Runs the program for one round of one trial.
class trial_player {
public:
  trial_player(program_runner& program, trials& all, const trial_progress& progress)
      : program_(&program), all_(&all), progress_(&progress) {
    (*progress_)(0, "its own malloc");
    first_ = program_->run("");
    if (first_.status > 128) throw std::runtime_error("the program " + ending_of(first_));
    all_->status = first_.status;
  }

  void play(std::size_t round) {
    const std::size_t ways = all_->candidates.size() + 1;
    for (std::size_t i = 0; i < ways; ++i) {
      const std::size_t way = (i + round) % ways;
      if (way == 0) play_own(round);
      else play_candidate(all_->candidates[way - 1], round);
    }
  }

private:
  void play_own(std::size_t round) {
    (*progress_)(round, "its own malloc");
    const program_run run = program_->run("");
    if (run.status != first_.status)
      throw std::runtime_error("the program does not end the same way each time: it " + ending_of(run));
    if (!run.same_output(first_)) all_->output_varies = true;
    add(all_->own, run);
  }

  void play_candidate(trial& t, std::size_t round) {
    if (!t.failure.empty()) return;
    (*progress_)(round, t.predicted.name);
    const program_run run = program_->run(t.predicted.library);
    if (run.status != first_.status) t.failure = "under it the program " + ending_of(run);
    if (!run.same_output(first_)) t.differs = true;
    add(t, run);
  }

  program_runner* program_;
  trials* all_;
  const trial_progress* progress_;
  program_run first_;
};

}  // namespace

void compare_trials(trials& all, double error) {
  for (trial& t : all.candidates)
    for (const program_measure m : program_measures)
      t.against_own[static_cast<std::size_t>(m)] =
          compare(all.own.in_rounds(m), t.in_rounds(m), threshold_of(m), error);
}

bool is_decided(const trials& all) {
  return std::all_of(all.candidates.begin(), all.candidates.end(), [](const trial& t) {
    return !t.failure.empty() || (t.versus(program_measure::cpu).found != finding::undecided &&
                                  t.versus(program_measure::peak).found != finding::undecided);
  });
}

trials try_program(program_runner& program, const std::vector<prediction>& candidates, const round_limits& limits,
                   const trial_progress& progress) {
  trials all;
  for (const prediction& p : candidates) all.candidates.push_back({p, {}, {}, p.failure, false});
  trial_player player(program, all, progress);
  const auto decided = [&all](double error) {
    compare_trials(all, error);
    return is_decided(all);
  };
  all.played = play_rounds(
      limits, program_measures.size() * candidates.size(), [&player](std::size_t round) { player.play(round); },
      decided);
  compare_trials(all, all.played.error);
  for (trial& t : all.candidates)
    if (t.failure.empty() && t.differs && !all.output_varies) t.failure = "under it the program prints something else";
  return all;
}

}  // namespace ashlar::cli
