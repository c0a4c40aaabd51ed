// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program's runs, round by round: once with its own malloc, once under each candidate.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cli/rounds/comparison.hpp"
#include "cli/rounds/program.hpp"
#include "cli/rounds/rounds.hpp"
#include "cli/try/prediction.hpp"

namespace ashlar::cli {

enum class program_measure { cpu, wall, peak };
inline constexpr std::array program_measures = {program_measure::cpu, program_measure::wall, program_measure::peak};

struct measure_spelling {
  const char* name;  ///< In tables and sentences.
  const char* key;   ///< In JSON, with the unit.
};
[[nodiscard]] constexpr measure_spelling spelling_of(program_measure m) noexcept {
  constexpr std::array<measure_spelling, program_measures.size()> spellings{
      {{"processor time", "cpu_ms"}, {"wall time", "wall_ms"}, {"peak RSS", "peak_rss_bytes"}}};
  return spellings[static_cast<std::size_t>(m)];
}

/// Returns: the threshold below which a difference of a whole program does not matter.
[[nodiscard]] constexpr practical_threshold threshold_of(program_measure m) noexcept {
  if (m == program_measure::peak) return {.share = 0.05, .absolute = 256 << 10};
  return {.share = 0.01};
}

/// One way to run the program.
struct trial {
  prediction predicted;  ///< Of its own malloc: none.
  std::array<std::vector<double>, program_measures.size()> rounds;
  std::array<paired_comparison, program_measures.size()> against_own;
  std::string failure;                 ///< If not empty, no other member is valid.
  bool differs = false;                ///< Whether it ever printed anything else than the program did at first.
  std::vector<double> system_ms = {};  ///< Of processor time, a value for each round.
  std::vector<double> faults = {};
  std::vector<double> own_shares = {};  ///< Of user time, the part in the program's own code, in separate runs.

  [[nodiscard]] const std::vector<double>& in_rounds(program_measure m) const noexcept {
    return rounds[static_cast<std::size_t>(m)];
  }
  [[nodiscard]] const paired_comparison& versus(program_measure m) const noexcept {
    return against_own[static_cast<std::size_t>(m)];
  }
};

struct trials {
  trial own;
  std::vector<trial> candidates;
  rounds_played played;
  int status = 0;              ///< The exit status, the same each time.
  bool output_varies = false;  ///< Under its own malloc already: then outputs are not compared.
};

/// Called before each run.
using trial_progress = std::function<void(std::size_t round, const std::string& name)>;

/// Effects: runs the program; once in advance, to bring files into the page cache. A candidate under which it ends or
/// prints otherwise is skipped from then on. Throws: `std::runtime_error` if the program cannot be started, dies of a
/// signal, or has no constant status under its own malloc.
[[nodiscard]] trials try_program(program_runner& program, const std::vector<prediction>& candidates,
                                 const round_limits& limits, const trial_progress& progress);

/// Effects: compares each candidate's rounds with those of the program's own malloc.
void compare_trials(trials& all, double error);
/// Returns: whether processor time and memory are decided for all candidates. Wall time is not waited for: more rounds
/// do not remove the influence of other programs.
[[nodiscard]] bool is_decided(const trials& all);

}  // namespace ashlar::cli
