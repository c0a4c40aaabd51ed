// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar try`: measures the gain of preloading another malloc for the program itself.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/remedies/apart.hpp"
#include "cli/replay/candidates.hpp"
#include "cli/report/recorded_build.hpp"
#include "cli/rounds/progress.hpp"
#include "cli/support/inspect_program.hpp"
#include "cli/support/output.hpp"
#include "cli/support/parse.hpp"
#include "cli/support/table.hpp"
#include "cli/support/verb.hpp"
#include "cli/support/words.hpp"
#include "cli/try/loading.hpp"
#include "cli/try/prediction.hpp"
#include "cli/try/reason.hpp"
#include "cli/try/text.hpp"
#include "cli/verify/options.hpp"

namespace ashlar::cli {

namespace {

constexpr double share_of_replay = 0.25;  // of the budget; the rest is for the runs of the program

struct try_options {
  std::string trace;
  std::vector<std::string> with;
  std::size_t best = 3;
  experiment_options how;
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
  add_experiment_options(app, o.how, "--runs,--repetitions",
                         "With --runs auto, stop after this time (20s, 2m): a quarter is for the replay, the rest for "
                         "the pairs of each malloc alike");
  app.add_option("--input", o.input, "The program's standard input, each time from its start (default: none)")
      ->type_name("FILE");
  app.add_flag("--damaged", o.prefix, "Replay the part of a damaged trace before the damage");
  app.add_option("--json", o.json, "Write every run to FILE; - is standard output")->type_name("FILE");
  app.footer(
      "The program must do the same each time. What it prints is kept off the terminal and compared.\n"
      "docs/try.md describes the measurement, docs/verify.md its statistics.\n\n"
      "Exit status: 0 a malloc is better or none matters, 1 the trace, the program or an allocator failed, 2 the\n"
      "command line is invalid, 4 more runs would decide, 5 the machine is unfit: the program differs from "
      "itself.");
}

std::vector<std::string> replay_options(const try_options& o, const experiment_plan& plan) {
  std::vector<std::string> words;
  if (plan.pairs != 0) words = {"--repetitions", std::to_string(plan.pairs)};
  else words = {"--budget", fmt::format("{}", share_of_replay * plan.seconds)};
  if (o.prefix) words.emplace_back("--damaged");
  return words;
}

void show_progress(const std::string& name, const std::string& step) { print_progress(name + " " + step); }

void print(const trials& tried, const trace_predictions& predictions) {
  constexpr std::size_t width = 100;
  fmt::print("A: {}\nB: the same with another malloc\n\n{}\n", tried.all.front().plan.a.shown, try_table(tried));
  for (const std::string& verdict : try_verdicts(tried)) fmt::print("{}\n", wrapped(verdict, width, "  "));
  fmt::print("\n{}\n\n", wrapped(try_conclusion(tried), width));
  for (const std::string& note : try_notes(tried, predictions)) fmt::print("{}\n", wrapped("· " + note, width, "  "));
}

experiment_plan setting_of(const try_options& o) {
  experiment_plan plan;
  plan.a = {.command = o.program, .shown = shell_line(o.program)};
  if (!o.input.empty()) plan.inputs = input_files({o.input});
  apply(o.how, plan);
  return plan;
}

/// Throws: as `expect_outputs`.
void check_output(const try_options& o) {
  expect_outputs({o.json},
                 {{o.trace, "trace"}, {o.input, "input"}, {inspect_program(o.program.front()).path, "program"}});
}

/// Returns: a note, if nothing shows that the program is the recorded one. Throws: `std::runtime_error` for a trace of
/// another build or another program, whose predictions are not of this one.
std::string check_build(const try_options& o) {
  // Apart, as the memory of the trace would count into the peaks of the programs.
  process_apart check([&o](const std::string& file) {
    const trace_input input(o.trace, o.prefix);
    refuse_other_build(input, file);
    return unknown_build_note(input, file);
  });
  return check.ask(inspect_program(o.program.front()).path);
}

int try_program(const try_options& o) {
  experiment_plan setting = setting_of(o);
  check_output(o);
  const std::vector<std::string> names = preloadable_names(o.with);
  const std::string unknown_build = check_build(o);
  trace_predictions predictions = predict(o.trace, names, replay_options(o, setting));
  predictions.unknown_build = unknown_build;
  if (o.with.empty() && predictions.all.size() > o.best) predictions.all.resize(o.best);
  add_loading(predictions.all);
  setting.seconds *= 1 - share_of_replay;
  trials tried = try_all(setting, predictions.all, show_progress);
  sample_misses(tried, show_progress);
  clear_progress();
  if (o.json != "-") print(tried, predictions);
  if (!o.json.empty()) write_json(o.json, try_json(tried, predictions));
  for (const trial& t : tried.all)
    if (!t.failure.empty()) complain("try", t.predicted.name + ": " + t.failure);
  return exit_status_of(tried);
}

/// Everything after "--" belongs to the program.
int run(int argc, char** argv) {
  try_options o;
  CLI::App app("ashlar try TRACE [OPTION]... -- PROGRAM [ARGUMENT]...\n\n"
               "Runs a program unrecorded under the mallocs that did best in a replay of its trace, and verifies each: "
               "'ashlar verify --malloc', predicted beside measured.",
               argv[0]);
  add_options(app, o);
  char** const dashes = std::find(argv, argv + argc, std::string_view("--"));
  if (const auto status = parse(app, static_cast<int>(dashes - argv), argv)) return *status;
  if (dashes != argv + argc) o.program.assign(dashes + 1, argv + argc);
  if (o.program.empty()) return complain("try", "no program given; see ashlar try --help", exit_usage);
  try {
    return try_program(o);
  } catch (const unknown_allocator& error) {
    return complain("try", error.what(), exit_usage);
  }
}

const verb_registration registration({"try", "verify a program under the allocators that did best in a replay", run});

}  // namespace

}  // namespace ashlar::cli
