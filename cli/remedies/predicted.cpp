// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the JSON of a replay.
#include "cli/remedies/predicted.hpp"

#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/remedies/apart.hpp"
#include "cli/support/table.hpp"
#include "cli/support/table_units.hpp"
#include "cli/support/verb.hpp"
#include "cli/verify/experiment.hpp"

namespace ashlar::cli {

using nlohmann::json;

json replay_remedies(const std::string& trace, double seconds, double program_seconds, bool accept_prefix) {
  std::vector<std::string> words = {"replay", "--json", "-", trace, "--budget", fmt::format("{}", seconds)};
  if (program_seconds > 0) words.insert(words.end(), {"--program-seconds", fmt::format("{}", program_seconds)});
  if (accept_prefix) words.emplace_back("--damaged");
  return json::parse(ask_apart(words));
}

int predicted_status(const json& replay) {
  return replay.at("preload_is_open").get<bool>() ? exit_inconclusive : exit_ok;
}

std::string predicted_text(const json& replay) {
  constexpr std::size_t width = 100;
  std::string text = wrapped(replay.at("preload"), width) + "\n\n";
  text += wrapped(fmt::format("PREDICTED by a replay of the trace, {} of each in {:.0f} s, against {}: the time "
                              "of allocation and free, without the program's own code and its cache misses; the "
                              "intervals hold together with 95 %. '--measure run' measures the program.",
                              counted(replay.at("repetitions").get<std::uint64_t>(), "repetition"),
                              replay.at("seconds").get<double>(),
                              replay.at("baseline").is_null() ? "nothing" : replay["baseline"].get<std::string>()),
                  width) +
          "\n";
  for (const json& line : replay.at("findings")) text += wrapped(line.get<std::string>(), width, "  ") + "\n";
  for (const json& allocator : replay.at("allocators"))
    if (allocator.contains("failure"))
      text += wrapped(fmt::format("{}: not replayed: {}", allocator["name"].get<std::string>(),
                                  allocator["failure"].get<std::string>()),
                      width, "  ") +
              "\n";
  if (const std::string meaning = replay.at("meaning"); !meaning.empty()) text += wrapped(meaning, width) + "\n";
  return text;
}

}  // namespace ashlar::cli
