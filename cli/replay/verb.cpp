// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar replay`: finds the allocator that would have served a recorded program best.
#include <ashlar/study/summariser.hpp>

#include "cli/html/page.hpp"
#include "cli/replay/child.hpp"
#include "cli/replay/figures.hpp"
#include "cli/replay/run.hpp"
#include "cli/report/data.hpp"
#include "cli/report/trace.hpp"
#include "cli/rounds/rounds.hpp"
#include "cli/support/output.hpp"
#include "cli/support/parse.hpp"
#include "cli/support/text.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

struct replay_options {
  std::string trace;
  std::vector<std::string> with;
  bool all = false;
  bool prefix = false;
  round_limits limits{.seconds = 30, .least = 3};
  double program_seconds = 0;
  std::string json;
  std::string html;
};

void add_options(CLI::App& app, replay_options& o) {
  app.add_option("TRACE", o.trace, "A trace written by 'ashlar record'")->required();
  add_value(app, "--with NAME,...", o.with,
            "Replay on these only: " + known_allocators() + ", or the path of a library")
      ->delimiter(',');
  app.add_flag("--all", o.all, "Replay on every known allocator of this machine, not only the usual ones")
      ->excludes("--with");
  auto* const budget =
      app.add_option_function<std::string>(
             "--budget", [&o](const std::string& text) { o.limits.seconds = budget_seconds(text); },
             "Repeat as often as a pilot of 6 asks for, or for this time (20s, 2m); at least three times")
          ->check(check_budget)
          ->type_name("TIME")
          ->default_str("30s");
  add_value(app, "--repetitions N", o.limits.rounds, "Repeat exactly this many times instead")
      ->check(CLI::Range(std::size_t{1}, most_rounds))
      ->excludes(budget);
  add_value(app, "--program-seconds SECONDS", o.program_seconds,
            "Run time of the program unrecorded: the output then gives the share that a change would save")
      ->check(CLI::Range(1e-6, 1e9));
  app.add_flag("--damaged", o.prefix, "Replay the part of a damaged trace before the damage");
  add_value(app, "--json FILE", o.json, "Write every figure to FILE; - is standard output");
  add_value(app, "--html FILE", o.html, "Write a report with plots to FILE; - is standard output");
  app.footer(
      "Each allocator works in processes of its own; repetitions are interleaved. docs/replay.md describes the "
      "method.\n"
      "'ashlar advise --measure run --only mallocs' runs the program itself under those that can be preloaded.\n\n"
      "Exit status: 0 replayed, 1 the trace or an allocator failed, 2 the command line is invalid.");
}

std::vector<candidate> choose(const replay_options& o, std::vector<std::string>& missing) {
  std::vector<candidate> all = o.with.empty() ? installed_candidates(o.all, missing) : named_candidates(o.with);
  std::erase_if(all, [](const candidate& c) { return c.stand == replay_stand::null; });
  all.push_back({"null", replay_stand::null, ""});
  all.push_back({"null, untouched", replay_stand::untouched, ""});
  return all;
}

/// Reads the trace once: the windows for the replay and, if requested, the summary for the report.
void compile(trace_input& input, temporary_file& file, replayed_trace& trace, study::summariser* summary) {
  window_writer writer(file);
  detail::window_compiler compiler([&writer](const detail::replay_window& w) { writer(w); });
  while (const auto event = input.next()) {
    trace.duration_ns = event->time_ns;
    compiler.add(*event);
    if (summary != nullptr) summary->add(*event);
  }
  trace.counts = compiler.finish();
  writer.finish(trace.counts);
  if (trace.counts.operations == 0) throw std::runtime_error(input.path() + ": nothing to replay: no allocation in it");
}

/// A block used by two threads cannot come from a heap of one thread.
void leave_out_local_heap(std::vector<candidate>& candidates, replayed_trace& trace) {
  const auto heaps = std::erase_if(candidates, [&](const candidate& c) {
    return c.stand == replay_stand::local_heap && trace.counts.crossing != 0;
  });
  if (heaps != 0)
    trace.left_out.push_back(
        fmt::format("local_heap was left out: it is a heap of one thread, and {} freed by another thread than the "
                    "allocating one.",
                    counted(trace.counts.crossing, "object was", "objects were")));
}

void print(const replay_figures& figures, const replayed_trace& trace) {
  const std::string threads = replay_threads_table(figures, trace);
  std::string text = fmt::format("{}\n{}\n{}\n{}{}{}", paragraph(replay_headline(trace)), replay_table(figures),
                                 replay_memory_table(figures, trace), threads, threads.empty() ? "" : "\n",
                                 paragraph(replay_findings_heading(figures)));
  for (const std::string& line : replay_findings(figures)) text += wrapped(line, page_width, "  ") + "\n";
  print_text(fmt::format("{}{}{}\n{}", text, paragraph(replay_verdict(figures)),
                         paragraph(replay_meaning(figures, trace)), bullets(replay_notes(figures, trace))));
}

int outcome(const replay_figures& figures) {
  int status = figures.baseline != nullptr ? exit_ok : exit_failure;
  for (const candidate_figures& row : figures.rows)
    if (!row.measured()) status = complain("replay", row.name + ": " + row.failure);
  return status;
}

int replay(const replay_options& o) {
  replayed_trace trace;
  std::vector<candidate> candidates = choose(o, trace.missing);
  trace_input input(o.trace, o.prefix);
  expect_outputs({o.json, o.html}, {{input.path(), "trace"}});
  trace.path = o.trace;
  trace.program = input.program();
  trace.program_ns = o.program_seconds * 1e9;
  temporary_file file;
  study::summariser summary;
  compile(input, file, trace, o.html.empty() ? nullptr : &summary);
  leave_out_local_heap(candidates, trace);
  const replay_run run = replay_all(candidates, file.descriptor(), o.limits);
  const replay_figures figures(run.results, run.played);
  trace.repetitions = run.played.rounds;
  if (o.json != "-" && o.html != "-") print(figures, trace);
  if (!o.json.empty()) write_json(o.json, replay_json(figures, trace));
  symboliser names;
  if (!o.html.empty()) write_text(o.html, html_report(&figures, &trace, make_report(input, summary.finish(), names)));
  return outcome(figures);
}

int replay_verb(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == replay_child_flag) replay_in_this_process(argc, argv);
  CLI::App app("ashlar replay TRACE [OPTION]...\n\n"
               "Replays a trace on the allocators of this machine and names the best one for the program: in time, "
               "tail and memory.",
               argv[0]);
  replay_options options;
  add_options(app, options);
  if (const auto status = parse(app, argc, argv)) return *status;
  if (const std::string mistake = shared_output({{"--json", options.json}, {"--html", options.html}}); !mistake.empty())
    throw usage_error(mistake + "; see ashlar replay --help");
  return replay(options);
}

const verb_registration replay_registration({"replay", "replay a trace on other allocators and name the best",
                                             replay_verb});

}  // namespace

}  // namespace ashlar::cli
