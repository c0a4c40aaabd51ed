// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The figures of one run of a program, and their names.
#pragma once

#include <array>
#include <cstddef>

#include <ashlar/detail/support/enum_table.hpp>

#include "cli/rounds/program.hpp"

namespace ashlar::cli {

enum class run_measure { cpu, user, system, wall, peak, after, faults };
inline constexpr std::array run_measures = {run_measure::cpu,   run_measure::user, run_measure::system,
                                            run_measure::wall,  run_measure::peak, run_measure::after,
                                            run_measure::faults};
static_assert(run_measures.size() == detail::enum_count<run_measure>);

struct run_measure_facts {
  const char* name;
  const char* key;  ///< In JSON, with the unit.
  double floor;     ///< Values below it are raised to it in ratios: their clock does not resolve them.
};
[[nodiscard]] constexpr run_measure_facts facts_of(run_measure m) noexcept {
  constexpr detail::enum_table<run_measure, run_measure_facts> facts = {
      run_measure_facts{"processor time", "cpu_ms", 0.01},
      run_measure_facts{"  user", "user_ms", 1},
      run_measure_facts{"  system", "system_ms", 1},
      run_measure_facts{"wall time", "wall_ms", 0.01},
      run_measure_facts{"peak RSS", "peak_rss_bytes", 4096},
      run_measure_facts{"RSS after peak", "rss_after_peak_bytes", 4096},
      run_measure_facts{"page faults", "page_faults", 1}};
  return facts[m];
}

using run_figures = detail::enum_table<run_measure, double>;

[[nodiscard]] inline run_figures figures_of(const program_run& run) noexcept {
  return {run.cpu_ms, run.user_ms(), run.system_ms, run.wall_ms, run.peak_bytes, run.after_bytes, run.faults};
}
[[nodiscard]] inline double value_of(const run_figures& figures, run_measure m) noexcept { return figures[m]; }

}  // namespace ashlar::cli
