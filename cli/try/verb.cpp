// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar try`: measures the gain of preloading another malloc for the program itself.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/replay/candidates.hpp"
#include "cli/rounds/options.hpp"
#include "cli/rounds/progress.hpp"
#include "cli/support/output.hpp"
#include "cli/support/parse.hpp"
#include "cli/support/table.hpp"
#include "cli/support/verb.hpp"
#include "cli/support/words.hpp"
#include "cli/try/loading.hpp"
#include "cli/try/prediction.hpp"
#include "cli/try/reason.hpp"
#include "cli/try/text.hpp"
#include "cli/try/trial.hpp"

namespace ashlar::cli {

namespace {

struct try_options {
  std::string trace;
  std::vector<std::string> with;
  std::size_t best = 3;
  round_limits limits{.rounds = 0, .seconds = 60};
  std::string input;
  std::string json;
  bool prefix = false;
  std::vector<std::string> program;
};

void add_options(CLI::App& app, try_options& o) {
  app.add_option("TRACE", o.trace, "A trace of the program, written by 'ashlar record'")->required();
  app.add_option("--with", o.with,
                 "Only these, or libraries by their paths (default: libashlar.so, mimalloc, jemalloc, tcmalloc)")
      ->delimiter(',')
      ->type_name("NAME,...");
  app.add_option("--best", o.best, "Run the program under this many allocators, the best of a replay")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100}))
      ->type_name("N")
      ->capture_default_str();
  add_round_options(app, o.limits, "; half of the seconds go to the replay");
  app.add_option("--input", o.input, "The program's standard input, each time from its start (default: none)")
      ->type_name("FILE");
  app.add_flag("--damaged", o.prefix, "Replay the part of a damaged trace before the damage");
  app.add_option("--json", o.json, "Write every run to FILE; - is standard output")->type_name("FILE");
  app.footer("The program must do the same each time. What it prints is kept off the terminal and compared.\n"
             "docs/replay.md describes the measurement.\n\n"
             "Exit status: 0 measured, 1 the trace, the program or an allocator failed, 2 the command line is "
             "invalid.");
}

std::vector<std::string> replay_options(const try_options& o) {
  std::vector<std::string> words;
  if (o.limits.rounds != 0) words = {"--repetitions", std::to_string(o.limits.rounds)};
  else words = {"--budget", fmt::format("{}", o.limits.seconds / 2)};
  if (o.prefix) words.emplace_back("--damaged");
  return words;
}

void show_progress(std::size_t round, const std::string& name) {
  print_progress(fmt::format("[round {}] running under {}", round + 1, name));
  if (round == 0 && !shows_progress()) std::fprintf(stderr, "running under %s\n", name.c_str());
}

void print(const trials& all, const trace_predictions& predictions, const std::string& program) {
  constexpr std::size_t width = 100;
  fmt::print("{}\n\n{}\n{}\n\n", wrapped(try_headline(all, program), width), try_table(all),
             wrapped(try_verdict(all, program), width));
  for (const std::string& note : try_notes(all, predictions, program))
    fmt::print("{}\n", wrapped("· " + note, width, "  "));
}

int outcome(const trials& all) {
  int status = exit_ok;
  for (const trial& t : all.candidates)
    if (!t.failure.empty()) status = complain("try", t.predicted.name + ": " + t.failure);
  return status;
}

int try_all(const try_options& o) {
  trace_predictions predictions = predict(o.trace, preloadable_names(o.with), replay_options(o));
  if (o.with.empty() && predictions.all.size() > o.best) predictions.all.resize(o.best);
  add_loading(predictions.all);
  program_runner runner(o.program, o.input);
  trials all = try_program(runner, predictions.all, o.limits, show_progress);
  sample_misses(runner, all, show_progress);
  clear_progress();
  const std::string program = joined(o.program);
  if (o.json != "-") print(all, predictions, program);
  if (!o.json.empty()) write_json(o.json, try_json(all, predictions, program));
  return outcome(all);
}

/// Everything after "--" belongs to the program.
int run(int argc, char** argv) {
  try_options o;
  CLI::App app("ashlar try TRACE [OPTION]... -- PROGRAM [ARGUMENT]...\n\n"
               "Runs a program unrecorded under the allocators that can be preloaded, and measures the gain of each.",
               argv[0]);
  add_options(app, o);
  char** const dashes = std::find_if(argv, argv + argc, [](const char* word) { return std::strcmp(word, "--") == 0; });
  if (const auto status = parse(app, static_cast<int>(dashes - argv), argv)) return *status;
  if (dashes != argv + argc) o.program.assign(dashes + 1, argv + argc);
  if (o.program.empty()) return complain("try", "no program given; see ashlar try --help", exit_usage);
  try {
    return try_all(o);
  } catch (const unknown_allocator& error) {
    return complain("try", error.what(), exit_usage);
  }
}

const verb_registration registration({"try", "run a program under the allocators that did best in a replay", run});

}  // namespace

}  // namespace ashlar::cli
