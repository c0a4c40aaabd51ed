// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sentences on processes and their traces.
#include "cli/record/losses.hpp"

#include <algorithm>
#include <cstddef>

#include "cli/preload/settings.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t most_named = 4;

/// "up to 4,096 events", "up to 4,096 events of each of its 3 threads"
std::string last_events(std::uint32_t threads) {
  const std::string most = "up to " + counted(recorder::log_records, "event");
  return threads <= 1 ? most : most + " of each of its " + counted(threads, "thread");
}

std::string place_of(const record_status::unfinished& p, int program, const std::string& path,
                     const recording_summary& sum) {
  if (p.process == program) return sum.has_trace ? path : "";
  const auto is_its = [&](const other_trace& t) { return t.process == static_cast<std::uint32_t>(p.process); };
  const auto found = std::find_if(sum.others.rbegin(), sum.others.rend(), is_its);  // the last one after an exec
  return found == sum.others.rend() ? "" : found->path;
}

std::string loss_of(const record_status::unfinished& p, const std::string& place) {
  const std::string process = "process " + std::to_string(p.process);
  const std::string state = p.is_running ? " is still running" : " was killed or ended by a system call of its own";
  const std::string lacks = place.empty() ? ", and has no trace: it lacks " : ": " + place + " lacks ";
  return process + state + lacks + last_events(p.threads);
}

}  // namespace

recording_losses find_losses(const std::vector<record_status::unfinished>& processes, const child_result& program,
                             const std::string& path, const recording_summary& sum) {
  recording_losses found;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const record_status::unfinished& p = processes[i];
    const bool is_told = p.process == program.process && program.status >= 128;
    found.is_untold = found.is_untold || !(p.is_running || is_told);
    if (i < most_named) found.text += (i == 0 ? "" : "; ") + loss_of(p, place_of(p, program.process, path, sum));
  }
  if (processes.size() > most_named)
    found.text += "; likewise " + counted(processes.size() - most_named, "more process", "more processes");
  return found;
}

}  // namespace ashlar::cli
