// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar export`: a trace as the profile or table that another viewer opens.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <unistd.h>

#include <ashlar/base/config.hpp>

#include "cli/export/formats.hpp"
#include "cli/record/processes.hpp"
#include "cli/report/trace.hpp"
#include "cli/support/output.hpp"
#include "cli/support/parse.hpp"
#include "cli/support/verb.hpp"
#include "cli/tree/tree.hpp"

namespace ashlar::cli {

namespace {

struct export_format {
  const char* name;
  bool is_text;  ///< Fit for a terminal.
  std::string (*file)(const stack_profile&, const export_request&);
};

constexpr std::array formats = {
    export_format{"pprof", false, pprof_file},          export_format{"folded", true, folded_file},
    export_format{"speedscope", true, speedscope_file}, export_format{"dhat", true, dhat_file},
    export_format{"heaptrack", true, heaptrack_file},   export_format{"perfetto", false, perfetto_file},
    export_format{"jsonl", true, jsonl_file},           export_format{"csv", true, csv_file},
    export_format{"parquet", false, parquet_file}};

/// Returns: the one of the name, or null.
template <class Named, std::size_t Size>
const Named* find_named(const std::array<Named, Size>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, [](const Named& each) { return std::string(each.name); });
  return found == all.end() ? nullptr : &*found;
}

/// Returns: the mistake in a name; empty if there is none.
template <class Named, std::size_t Size>
std::string check_named(const std::array<Named, Size>& all, const std::string& name) {
  if (find_named(all, name) != nullptr) return {};
  std::vector<std::string> names;
  for (const Named& each : all) names.emplace_back(each.name);
  return fmt::format("'{}' is none of {}", name, joined(names, ", "));
}

struct export_options {
  std::string trace;
  std::string format;
  std::string output = "-";
  std::string process;
  std::string value = first_value;
  std::string rows = "stacks";
  bool prefix = false;
};

ASHLAR_COLD void add_options(CLI::App& app, export_options& o) {
  app.add_option("TRACE", o.trace, "A trace written by 'ashlar record', or a directory of traces")->required();
  add_value(app, "--format FORMAT", o.format,
            "pprof; folded, for flame graphs; speedscope; dhat, for valgrind's dh_view; heaptrack, each event; "
            "perfetto, live bytes and spans over time; or a table: jsonl (lines of JSON), csv, parquet")
      ->required()
      ->check([](const std::string& name) { return check_named(formats, name); });
  add_value(app, "-o,--output FILE", o.output, "Write to FILE; - is standard output, the default");
  add_value(app, "--value VALUE", o.value,
            "The one of folded, and that which pprof and speedscope show first: alloc_objects, alloc_space, "
            "inuse_objects, inuse_space, peak_objects, peak_space (the default), temporary_objects")
      ->check([](const std::string& name) { return check_named(stack_values, name); });
  add_value(app, "--rows WHAT", o.rows, "Of a table: stacks, the default, or sites")
      ->check([](const std::string& rows) {
        return rows == "stacks" || rows == "sites" ? std::string() : "'" + rows + "' is neither stacks nor sites";
      });
  add_value(app, "--process WHICH", o.process,
            "Of the processes of the recording: largest, the one with the most events (the default); root, the one "
            "that record started; or a process id. In a directory also the number of a process, or the name of its "
            "program");
  app.add_flag("--damaged", o.prefix, "Export the part of a damaged trace before the damage");
  app.footer("Exit status: 0 exported, 1 the trace cannot be read or the file not be written, 2 the command line is\n"
             "invalid.");
}

ASHLAR_COLD int export_trace(const export_options& o) {
  const export_format& format = *find_named(formats, o.format);
  if (o.output == "-" && !format.is_text && ::isatty(STDOUT_FILENO) != 0)
    throw usage_error(o.format + " is not for a terminal: -o FILE, or a pipe");
  const process_choice choice = choose_process_of(o.trace, o.process);
  trace_input input(choice.taken.path, o.prefix);
  expect_outputs({o.output}, {{input.path(), "trace"}});
  const stack_profile profile = read_profile(input);
  const std::string file =
      format.file(profile, {input.path(), o.prefix, find_named(stack_values, o.value), o.rows == "sites"});
  write_text(o.output, file);
  for (const std::string& note : {choice.text, damage_note(input.info())})
    if (!note.empty()) complain("export", note);
  for (const std::string& note : profile.notes) complain("export", note);
  return exit_ok;
}

ASHLAR_COLD int export_verb(int argc, char** argv) {
  CLI::App app("ashlar export TRACE --format FORMAT [-o FILE] [OPTION]...\n\n"
               "Writes the call stacks of a recorded program, with their allocations, for another viewer.",
               argv[0]);
  export_options options;
  add_options(app, options);
  if (const auto status = parse(app, argc, argv)) return *status;
  if (!is_tree(options.trace)) require_process_wish(options.process, "export");
  return export_trace(options);
}

const verb_registration
    export_registration({"export", "write a trace for another viewer: pprof, speedscope, DHAT, tables", export_verb});

}  // namespace

}  // namespace ashlar::cli
