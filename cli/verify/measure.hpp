// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The figures of one run of a program, and their names.
#pragma once

#include <array>
#include <cstddef>

#include "cli/rounds/program.hpp"

namespace ashlar::cli {

enum class run_measure { cpu, user, system, wall, peak, faults };
inline constexpr std::array run_measures = {run_measure::cpu,  run_measure::user, run_measure::system,
                                            run_measure::wall, run_measure::peak, run_measure::faults};

struct run_measure_facts {
  const char* name;
  const char* key;  ///< In JSON, with the unit.
  double floor;     ///< Values below it are raised to it in ratios: their clock does not resolve them.
};
[[nodiscard]] constexpr run_measure_facts facts_of(run_measure m) noexcept {
  constexpr std::array<run_measure_facts, run_measures.size()> facts{{{"processor time", "cpu_ms", 0.01},
                                                                      {"  user", "user_ms", 1},
                                                                      {"  system", "system_ms", 1},
                                                                      {"wall time", "wall_ms", 0.01},
                                                                      {"peak RSS", "peak_rss_bytes", 4096},
                                                                      {"page faults", "page_faults", 1}}};
  return facts[static_cast<std::size_t>(m)];
}

using run_figures = std::array<double, run_measures.size()>;

[[nodiscard]] inline run_figures figures_of(const program_run& run) noexcept {
  return {run.cpu_ms, run.user_ms(), run.system_ms, run.wall_ms, run.peak_bytes, run.faults};
}
[[nodiscard]] inline double value_of(const run_figures& figures, run_measure m) noexcept {
  return figures[static_cast<std::size_t>(m)];
}

}  // namespace ashlar::cli
