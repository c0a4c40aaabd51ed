// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starts a process for each replay and collects its measurements, or the reason of its failure.
#include "cli/replay/run.hpp"

#include <cstring>

#include <sys/wait.h>

#include "cli/replay/figures.hpp"
#include "cli/rounds/program.hpp"

namespace ashlar::cli {

namespace {

std::vector<std::string> environment_for(const candidate& who) {
  constexpr std::string_view preload = "LD_PRELOAD=";
  std::vector<std::string> all;
  for (char** entry = ::environ; *entry != nullptr; ++entry)
    if (std::string_view(*entry).substr(0, preload.size()) != preload) all.emplace_back(*entry);
  if (!who.library.empty()) all.push_back(std::string(preload) + who.library);
  return all;
}

/// Returns: the reason of the failure, from the status and the last words; empty if there is none. `when`: "while
/// replaying".
std::string verdict_of(int status, const std::string& words, const std::string& when) {
  constexpr std::string_view prefix = "ashlar replay: ";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFSIGNALED(status))
    return fmt::format("died of signal {} ({}) {}", WTERMSIG(status), ::strsignal(WTERMSIG(status)), when);
  if (words.starts_with(prefix)) return words.substr(prefix.size());
  return words.empty() ? fmt::format("ended with status {} {}", WEXITSTATUS(status), when) : words;
}

/// Throws: `std::runtime_error` with the reason, if the process fails.
void run_child(const candidate& who, bool latency, int windows, const temporary_file& result, const std::string& when) {
  const temporary_file errors;
  const int status = run_self(
      {.arguments = {"ashlar", "replay", replay_child_flag, std::to_string(static_cast<int>(who.stand)),
                     latency ? "1" : "0", std::to_string(windows), std::to_string(result.descriptor()), who.library},
       .environment = environment_for(who),
       .from = errors.descriptor(),
       .to = STDERR_FILENO});
  const std::string why = verdict_of(status, last_line(errors), when);
  if (!why.empty()) throw std::runtime_error(why);
}

replay_result replay_once(const candidate& who, bool latency, int windows) {
  const temporary_file result;
  run_child(who, latency, windows, result, "while replaying");
  replay_result measured;
  if (::pread(result.descriptor(), &measured, sizeof measured, 0) != static_cast<ssize_t>(sizeof measured))
    throw std::runtime_error("ended without a result");
  return measured;
}

void replay_into(candidate_results& results, bool latency, int windows) {
  try {
    (latency ? results.latency : results.throughput).push_back(replay_once(results.who, latency, windows));
  } catch (const std::exception& error) {
    results.failure = error.what();
  }
}

bool is_allocator(const candidate& who) {
  return who.stand != replay_stand::null && who.stand != replay_stand::untouched;
}

/// A candidate that is not an allocator has no verdict: three rounds suffice for its row.
bool sits_out(const candidate_results& results, std::size_t round) {
  return !results.failure.empty() || (round >= 3 && !is_allocator(results.who));
}

void play_round(std::vector<candidate_results>& all, std::size_t round, int windows) {
  for (const bool latency : {false, true})
    for (std::size_t i = 0; i < all.size(); ++i) {
      candidate_results& next = all[(i + round) % all.size()];
      if (!sits_out(next, round)) replay_into(next, latency, windows);
    }
}

}  // namespace

void expect_malloc(const candidate& who) {
  run_child(who, false, -1, temporary_file(), "as it started with " + who.library);
}

replay_run replay_all(const std::vector<candidate>& candidates, int windows, const round_limits& limits) {
  replay_run run;
  for (const candidate& who : candidates) run.results.push_back({who, {}, {}, {}});
  run.played = play_rounds(
      limits, [&](std::size_t round) { play_round(run.results, round, windows); },
      [&] { return replay_figures(run.results, {}).planned(); });
  return run;
}

}  // namespace ashlar::cli
