// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar budget`: holds a program to limits of allocation, for builds that must fail where one is exceeded.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ashlar/base/event.hpp>
#include <ashlar/study/summariser.hpp>

#include "cli/budget/check.hpp"
#include "cli/budget/limits.hpp"
#include "cli/record/child.hpp"
#include "cli/record/status.hpp"
#include "cli/report/trace.hpp"
#include "cli/support/companion.hpp"
#include "cli/support/inspect_program.hpp"
#include "cli/support/output.hpp"
#include "cli/support/parse.hpp"
#include "cli/support/scratch_directory.hpp"
#include "cli/support/table.hpp"
#include "cli/support/table_units.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

constexpr int exit_exceeded = 3;

struct command {
  std::string limits;
  std::string write;  ///< The file of limits to make; empty: none.
  std::string trace;
  std::string json;
  std::vector<std::string> program;
};

std::vector<limit> limits_in(const std::string& file) {
  std::ifstream from(file);
  if (!from) throw std::runtime_error(file + ": cannot be read");
  return read_limits(from, file);
}

nlohmann::json json_of(const std::vector<checked_limit>& all) {
  nlohmann::json rows = nlohmann::json::array();
  constexpr detail::enum_table<budget_subject, const char*> subjects = {"span", "thread", "program"};
  for (const checked_limit& each : all) {
    nlohmann::json found;  // null: absent
    if (each.found) found = *each.found;
    rows.push_back({{"subject", subjects[each.allowed.subject]},
                    {"name", each.allowed.name},
                    {"figure", each.allowed.figure},
                    {"allowed", each.allowed.most},
                    {"found", found},
                    {"kept", each.is_kept()}});
  }
  return {{"limits", rows}};
}

int check_summary(const command& c, const std::vector<limit>& limits, const study::trace_summary& sum,
                  const trace::name_table& names) {
  const std::vector<checked_limit> all = check_limits(limits, sum, names);
  if (c.json != "-") fmt::print("{}", limits_text(all));
  if (!c.json.empty()) write_json(c.json, json_of(all));
  return std::all_of(all.begin(), all.end(), [](const checked_limit& l) { return l.is_kept(); }) ? exit_ok
                                                                                                 : exit_exceeded;
}

int write_limits(const std::string& file, const study::trace_summary& sum, const trace::name_table& names) {
  const std::vector<limit> limits = limits_of(sum, names);
  write_text(file, limits_file(limits));
  if (file != "-") fmt::print("{}, written to {}\n", counted(limits.size(), "limit"), file);
  for (const std::string& note : notes_on_threads(sum, names)) {
    if (file == "-") complain("budget", note);
    else fmt::print("{}\n", wrapped("· " + note, 100, "  "));
  }
  return exit_ok;
}

/// `limits` are of no use to a command that makes a file of them.
int use_trace(const command& c, const std::vector<limit>& limits, const std::string& trace) {
  trace_input input(trace);
  const study::trace_summary sum = study::summarise(input);
  if (const std::string note = damage_note(input.info()); !note.empty()) throw std::runtime_error(trace + ": " + note);
  return c.write.empty() ? check_summary(c, limits, sum, input.names()) : write_limits(c.write, sum, input.names());
}

int record_and_use(const command& c, const std::vector<limit>& limits) {
  const std::string library = require_companion(recorder_library);
  const scratch_directory scratch;
  const std::string trace = scratch.file("trace");
  const record_status told;
  const child_result result = run_recorded({library, trace, told.id(), 0, c.program});
  if (result.error != 0) return complain_of_start("budget", c.program.front(), result.error);
  if (result.status != 0)
    return complain("budget", c.program.front() + " ended with status " + std::to_string(result.status));
  if (const std::string failure = told.failure(); !failure.empty())
    return complain("budget", "the recording is incomplete: " + failure);
  if (!fs::exists(trace)) return complain("budget", "nothing was recorded: 'ashlar record' tells why", exit_not_loaded);
  const auto files = static_cast<std::size_t>(std::distance(fs::directory_iterator(scratch.path()), {}));
  if (files > 1)
    complain("budget", fmt::format("what the processes do that {} started ({}) counts for no limit", c.program.front(),
                                   files - 1));
  return use_trace(c, limits, trace);
}

/// Returns: null if there is none.
const char* mistake_of(const command& c) {
  if (c.program.empty() == c.trace.empty()) return "either --trace TRACE or -- PROGRAM is needed, and not both";
  if (c.limits.empty() == c.write.empty()) return "either LIMITS or --write FILE is needed, and not both";
  if (!c.write.empty() && !c.json.empty()) return "--json is of no use with --write";
  const bool uses_output = c.write == "-" || c.json == "-";
  return uses_output && !c.program.empty() ? "PROGRAM has standard output: '-' is for --trace" : nullptr;
}

/// Throws: as `expect_outputs`.
void check_outputs(const command& c) {
  std::vector<input_file> inputs = {{c.limits, "file of limits"}, {c.trace, "trace"}};
  if (!c.program.empty()) inputs.push_back({inspect_program(c.program.front()).path, "program"});
  expect_outputs({c.write, c.json}, inputs);
}

int run(int argc, char** argv) {
  command c;
  CLI::App app(
      "ashlar budget LIMITS [--json FILE] (--trace TRACE | -- PROGRAM [ARGUMENT]...)\n"
      "       ashlar budget --write FILE (--trace TRACE | -- PROGRAM [ARGUMENT]...)\n\n"
      "Holds a program to limits: allocations, bytes and live bytes of spans, threads and the whole. Counts are\n"
      "exact and the same in each run; times (p50_ns, p99_ns, p99_9_ns of spans) are those of a recorded run.",
      argv[0]);
  app.footer("Exit status: 0 all limits are kept, 3 one is exceeded or has nothing that it holds for, 1 the program\n"
             "failed, or the trace or the limits cannot be read, 2 the command line is invalid, 124 the recorder\n"
             "cannot be loaded into the program, 126 and 127 it cannot be run or found.\n"
             "docs/spans.md has the limits.");
  app.add_option("LIMITS", c.limits, "A file in JSON: spans, threads and program, each with limits");
  app.add_option("--write", c.write,
                 "Write the counts and peaks of this run to FILE, as LIMITS; with --trace, - is standard "
                 "output")
      ->type_name("FILE");
  app.add_option("--trace", c.trace, "Hold a recorded trace to the limits in place of a run")->type_name("TRACE");
  app.add_option("--json", c.json, "Write the result to FILE; with --trace, - is standard output")->type_name("FILE");
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  if (const auto status = parse(app, static_cast<int>(dashes - argv), argv)) return *status;
  if (dashes != end) c.program.assign(dashes + 1, end);
  if (const char* const mistake = mistake_of(c); mistake != nullptr)
    return complain("budget", std::string(mistake) + "; see ashlar budget --help", exit_usage);
  check_outputs(c);
  const std::vector<limit> limits = c.write.empty() ? limits_in(c.limits) : std::vector<limit>();
  return c.trace.empty() ? record_and_use(c, limits) : use_trace(c, limits, c.trace);
}

const verb_registration registration({"budget", "fail where a program exceeds limits of allocation", run});

}  // namespace

}  // namespace ashlar::cli
