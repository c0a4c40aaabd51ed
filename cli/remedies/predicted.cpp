// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the JSON of a replay.
#include "cli/remedies/predicted.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/rounds/interval.hpp"
#include "cli/support/start_self.hpp"
#include "cli/support/table.hpp"
#include "cli/support/table_units.hpp"
#include "cli/support/temporary_file.hpp"
#include "cli/support/verb.hpp"
#include "cli/verify/text.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

constexpr std::size_t page_width = 100;

/// A rival of the baseline in a replay.
struct predicted_row {
  std::string name;
  std::string failure;
  std::string found;  ///< Of its time: "gain", "loss", "level" or "undecided".
  median_interval time;
  double saved_least_ms = 0, saved_most_ms = 0;
  double wanted = 0;  ///< Repetitions, if undecided.
  bool is_preloadable = false;
};

predicted_row row_of(const json& allocator) {
  predicted_row row;
  row.name = allocator.at("name");
  row.failure = allocator.value("failure", "");
  row.is_preloadable = !allocator.at("library").get<std::string>().empty();
  if (!allocator.contains("against_baseline")) return row;
  const json& time = allocator["against_baseline"].at("time");
  row.found = time.at("finding");
  row.time.median = time.at("ratio");
  if (!time.at("interval").is_null()) {
    row.time.least = time["interval"][0];
    row.time.greatest = time["interval"][1];
  }
  row.wanted = time.value("repetitions_wanted", 0.0);
  row.saved_least_ms = allocator.at("saved_ms").at("least");
  row.saved_most_ms = allocator["saved_ms"].at("most");
  return row;
}

/// Returns: the rivals, the greatest gain first, then those that failed.
std::vector<predicted_row> rows_of(const json& replay) {
  std::vector<predicted_row> rows;
  for (const json& allocator : replay.at("allocators"))
    if (allocator.contains("against_baseline") || allocator.contains("failure")) rows.push_back(row_of(allocator));
  std::stable_sort(rows.begin(), rows.end(), [](const predicted_row& a, const predicted_row& b) {
    if (a.failure.empty() != b.failure.empty()) return a.failure.empty();
    return a.time.median < b.time.median;
  });
  return rows;
}

std::string time_text(const predicted_row& row) {
  if (row.time.bounded()) return change_text(row.time);
  return fmt::format("{:+.1f} %, too few repetitions for an interval", 100 * (row.time.median - 1));
}

std::string saved_text(const predicted_row& row, const json& replay) {
  const double ms = row.saved_most_ms;
  std::string text = fmt::format("{} {} a run", human_time(1e6 * std::abs(ms)), ms < 0 ? "more" : "less");
  if (const json& program = replay.at("program_ns"); program.is_number())
    text += fmt::format(", {} of the program", percent(1e6 * std::abs(ms), program.get<double>()));
  return text;
}

std::string line_of(const predicted_row& row, const json& replay) {
  if (!row.failure.empty()) return "not replayed: " + row.failure;
  const std::string figures = fmt::format("{}; {}", time_text(row), saved_text(row, replay));
  if (row.found == "level") return "change nothing: predicted " + figures;
  if (row.found == "undecided")
    return fmt::format("undecided: {}; about {} would decide", figures, human_count(row.wanted, "repetition"));
  return (row.found == "loss" ? "worse: " : "") + figures;
}

/// Returns: the row of the winner; the end if there is none.
auto winner_in(const std::vector<predicted_row>& rows) {
  return std::find_if(rows.begin(), rows.end(), [](const predicted_row& row) {
    return row.failure.empty() && row.is_preloadable && row.found == "gain";
  });
}

bool is_open(const std::vector<predicted_row>& rows) {
  return winner_in(rows) == rows.end() && std::any_of(rows.begin(), rows.end(), [](const predicted_row& row) {
           return row.is_preloadable && row.found == "undecided" && row.time.median < 1;
         });
}

std::string verdict_of(const std::vector<predicted_row>& rows, const json& replay) {
  if (const auto winner = winner_in(rows); winner != rows.end())
    return fmt::format("Preload {}: PREDICTED {} of the time of allocation, {}.", winner->name, time_text(*winner),
                       saved_text(*winner, replay));
  if (is_open(rows))
    return "Inconclusive: PREDICTED gains of mallocs that can be preloaded are undecided; a larger --budget decides.";
  return "Change nothing: no malloc that can be preloaded is PREDICTED to gain.";
}

/// Returns: the JSON of `ashlar replay` with these words, in a process of its own, so that its memory does not count
/// into later measurements. Throws: `std::runtime_error` if it fails.
std::string replay_output(const std::vector<std::string>& words) {
  const temporary_file output;
  own_part replay = {
      .arguments = {"ashlar", "replay", "--json", "-"}, .from = output.descriptor(), .to = STDOUT_FILENO};
  replay.arguments.insert(replay.arguments.end(), words.begin(), words.end());
  for (char** entry = ::environ; *entry != nullptr; ++entry) replay.environment.emplace_back(*entry);
  const pid_t child = start_self(replay);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::string text(static_cast<std::size_t>(std::max<off_t>(::lseek(output.descriptor(), 0, SEEK_END), 0)), '\0');
  const ssize_t n = ::pread(output.descriptor(), text.data(), text.size(), 0);
  if (n <= 0) throw std::runtime_error("the replay failed");
  return text;
}

}  // namespace

json replay_remedies(const std::string& trace, double seconds, double program_seconds, bool accept_prefix) {
  std::vector<std::string> words = {trace, "--budget", fmt::format("{}", seconds)};
  if (program_seconds > 0) words.insert(words.end(), {"--program-seconds", fmt::format("{}", program_seconds)});
  if (accept_prefix) words.emplace_back("--damaged");
  return json::parse(replay_output(words));
}

int predicted_status(const json& replay) { return is_open(rows_of(replay)) ? exit_inconclusive : exit_ok; }

std::string predicted_text(const json& replay) {
  const std::vector<predicted_row> rows = rows_of(replay);
  std::string text = wrapped(verdict_of(rows, replay), page_width) + "\n\n";
  text +=
      wrapped(fmt::format("PREDICTED by a replay of the trace, {} of each in {:.0f} s, against {}: the time "
                          "of allocation and free, without the program's own code and its cache misses; the intervals "
                          "hold together with 95 %. '--measure run' measures the program.",
                          counted(replay.at("repetitions").get<std::uint64_t>(), "repetition"),
                          replay.at("seconds").get<double>(),
                          replay.at("baseline").is_null() ? "nothing" : replay["baseline"].get<std::string>()),
              page_width) +
      "\n";
  constexpr std::size_t name_columns = 24;
  for (const predicted_row& row : rows) {
    const std::string name = row.name + (row.is_preloadable ? "" : " (in the code)");
    const std::string head = "  " + name + std::string(std::max(name_columns, name.size() + 1) - name.size(), ' ');
    text += hanging(head, line_of(row, replay), page_width) + "\n";
  }
  return text;
}

}  // namespace ashlar::cli
