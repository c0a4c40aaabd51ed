// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asks `ashlar replay` for its JSON.
#include "cli/try/prediction.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/replay/candidates.hpp"
#include "cli/support/start_self.hpp"
#include "cli/support/temporary_file.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

/// The measurements of glibc by the replay.
struct baseline_figures {
  double peak_bytes = 0;
  double system_ms = 0;
};

prediction prediction_of(const json& row, const baseline_figures& baseline) {
  prediction p;
  p.name = row.at("name");
  p.library = row.at("library");
  p.command = row.value("command", "");
  p.failure = row.value("failure", "");
  if (!p.failure.empty() || !row.contains("saved_ms")) return p;
  p.saved_least_ms = row["saved_ms"].at("least");
  p.saved_most_ms = row["saved_ms"].at("most");
  p.peak_bytes_more = row.at("peak_rss_bytes").at("median").get<double>() - baseline.peak_bytes;
  p.system_saved_ms = baseline.system_ms - row.at("system_ms").at("median").get<double>();
  return p;
}

baseline_figures baseline_of(const json& rows) {
  for (const json& row : rows)
    if (row.at("name") == "glibc" && row.contains("peak_rss_bytes"))
      return {row["peak_rss_bytes"].at("median"), row.at("system_ms").at("median")};
  return {};
}

}  // namespace

std::vector<std::string> preloadable_names(const std::vector<std::string>& names) {
  std::vector<std::string> missing, result;
  static_cast<void>(named_libraries(names));
  if (!names.empty()) return names;
  for (const candidate& c : installed_candidates(false, missing))
    if (!c.library.empty()) result.push_back(c.name);
  if (result.empty()) throw std::runtime_error("this machine has no allocator library that can be preloaded");
  return result;
}

trace_predictions read_predictions(const std::string& replay_json) {
  const json whole = json::parse(replay_json);
  trace_predictions result{whole.at("program"), whole.at("counts").at("threads"), {}};
  const json& rows = whole.at("allocators");
  const baseline_figures baseline = baseline_of(rows);
  for (const json& row : rows)
    if (!row.at("library").get<std::string>().empty()) result.all.push_back(prediction_of(row, baseline));
  std::stable_sort(result.all.begin(), result.all.end(), [](const prediction& a, const prediction& b) {
    return a.failure.empty() != b.failure.empty() ? a.failure.empty() : a.saved_most_ms > b.saved_most_ms;
  });
  return result;
}

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

trace_predictions predict(const std::string& trace, const std::vector<std::string>& names,
                          const std::vector<std::string>& replay_options) {
  std::string with = "glibc";
  for (const std::string& name : names) with += "," + name;
  std::vector<std::string> words = {trace, "--with", with};
  words.insert(words.end(), replay_options.begin(), replay_options.end());
  return read_predictions(replay_output(words));
}

}  // namespace ashlar::cli
