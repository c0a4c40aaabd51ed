// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar report`: the requests of a recorded program to its allocator.

#include <fmt/format.h>

#include "cli/html/page.hpp"
#include "cli/record/processes.hpp"
#include "cli/report/data.hpp"
#include "cli/report/trace.hpp"
#include "cli/support/output.hpp"
#include "cli/support/parse.hpp"
#include "cli/support/verb.hpp"
#include "cli/tree/merge.hpp"
#include "cli/tree/tree.hpp"

namespace ashlar::cli {

namespace {

struct report_options {
  std::string trace;
  std::string process;
  bool merges = false;
  bool prefix = false;
  std::string json;
  std::string html;
};

void add_options(CLI::App& app, report_options& o) {
  app.add_option("TRACE", o.trace, "A trace written by 'ashlar record', or a directory of traces")->required();
  add_value(app, "--process WHICH", o.process,
            "Of the processes of the recording: largest, the one with the most events (the default); root, the one "
            "that record started; or a process id. In a directory also the number of a process, or the name of its "
            "program (default there: a table of all)");
  app.add_flag("--merge", o.merges,
               "Of a directory: report on all processes together; with --process on those of that one's program");
  app.add_flag("--damaged", o.prefix, "Report on the part of a damaged trace before the damage");
  add_value(app, "--json FILE", o.json, "Write every figure to FILE; - is standard output");
  add_value(app, "--html FILE", o.html, "Write a report with plots to FILE; - is standard output");
  app.footer("Exit status: 0 reported, 1 the trace cannot be read, 2 the command line is invalid.");
}

report_data read_trace(const report_options& o) {
  const process_choice choice = choose_process(o.trace, o.process);
  trace_input input(choice.taken.path, o.prefix);
  for (const std::string& output : {o.json, o.html}) expect_other_file(output, input.path(), "trace");
  symboliser names;
  study::trace_summary summary = named_summary(input, names);
  report_data data = make_report(input, std::move(summary), names);
  data.choice = choice.text;
  data.processes = processes_json(choice);
  return data;
}

int write_report(const report_options& o, const report_data& data) {
  if (o.json != "-" && o.html != "-") print_text(report_text(data));
  if (!o.json.empty()) write_json(o.json, report_json(data));
  if (!o.html.empty()) write_text(o.html, html_report(nullptr, nullptr, data));
  return exit_ok;
}

int report(const report_options& o) { return write_report(o, read_trace(o)); }

/// A table of all processes has neither sites nor a page.
int report_on_tree(const report_options& o, const process_tree& tree) {
  if (!o.html.empty())
    throw usage_error("--html is for one process of a directory: --process; see ashlar report --help");
  if (o.json != "-") print_text(tree_text(tree));
  if (!o.json.empty()) write_json(o.json, tree_json(tree));
  return exit_ok;
}

/// Of a directory, the trace of the process that was asked for becomes the one to report.
int report_on_directory(report_options o) {
  const process_tree tree = read_tree(o.trace);
  if (o.process.empty() && !o.merges) return report_on_tree(o, tree);
  for (const std::string& note : tree.notes) complain("report", note);
  if (o.merges) return write_report(o, merged_report(tree, o.process));
  o.trace = tree.path_of(choose_process(tree, o.process));
  o.process = {};
  return report(o);
}

int report_verb(int argc, char** argv) {
  CLI::App app("ashlar report TRACE [OPTION]...\n\n"
               "Describes the requests of a recorded program: sizes, lifetimes, threads, call sites.",
               argv[0]);
  report_options options;
  add_options(app, options);
  if (const auto status = parse(app, argc, argv)) return *status;
  if (const std::string mistake = shared_output({{"--json", options.json}, {"--html", options.html}}); !mistake.empty())
    return complain("report", mistake + "; see ashlar report --help", exit_usage);
  if (is_tree(options.trace)) return report_on_directory(options);
  if (options.merges) throw usage_error("--merge is for a directory of traces; see ashlar report --help");
  require_process_wish(options.process, "report");
  return report(options);
}

const verb_registration report_registration({"report", "describe the allocations of a recorded program", report_verb});

}  // namespace

}  // namespace ashlar::cli
