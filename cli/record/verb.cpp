// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar record`: runs a program and records its allocations.
#include "cli/support/verb.hpp"

#include <cerrno>

#include <unistd.h>

#include "cli/preload/status.hpp"
#include "cli/record/leftovers.hpp"
#include "cli/record/recording.hpp"
#include "cli/record/run_note.hpp"
#include "cli/rounds/rounds.hpp"
#include "cli/support/companion.hpp"
#include "cli/support/inspect_program.hpp"
#include "cli/support/output.hpp"
#include "cli/support/parse.hpp"
#include "cli/tree/tree.hpp"
#include "malloc/option_words.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

constexpr int exit_not_whole = 125;
constexpr preloaded_tool the_recorder{.name = "the recorder", .use = "record", .needs_glibc = false};

struct record_command {
  std::string output;        ///< Of a directory, the pattern of the traces in it.
  std::string directory;     ///< Empty: one file.
  unsigned stack_depth = 8;  // enough for the call sites of a report
  bool quiet = false;
  std::vector<std::string> only;
  bool is_alone = false;
  std::string max_size;
  std::vector<std::string> program;
};

/// Returns: the error of a start, if the file found for the program tells it; else 0.
int start_error(const std::string& file) {
  if (file.find('/') == std::string::npos) return ENOENT;
  return ::access(file.c_str(), X_OK) == 0 ? 0 : errno;
}

/// Effects: makes an empty file for the recorder, so that an unwritable output is reported before the program runs.
/// Returns: the error, or 0.
int prepare_output(const std::string& path) {
  if (path.find("%p") != std::string::npos) return 0;
  errno = 0;
  const std::ofstream file(path, std::ios::binary | std::ios::trunc);
  return file ? 0 : errno == 0 ? EIO : errno;
}

/// Effects: removes the output of a program that was not started, unless it is a device or a pipe.
void remove_unused(const std::string& output) {
  std::error_code ignored;
  if (fs::is_regular_file(fs::symlink_status(output, ignored))) fs::remove(output, ignored);
}

std::string with_process(std::string path, int process) {
  const std::size_t hole = path.find("%p");
  return hole == std::string::npos ? path : path.replace(hole, 2, std::to_string(process));
}

std::string own_status(int status) { return "; the program's own exit status is " + std::to_string(status); }

std::string why_nothing(const record_command& c, const program_facts& facts, int status) {
  if (!c.only.empty()) return "no program of --only " + joined(c.only, ", ") + " loaded the recorder";
  std::string reason = describe(facts, the_recorder);
  if (!reason.empty()) return reason;
  if (status >= 128) return "the program was killed before any thread had filled a buffer";
  return "the program did not load the recorder, or ended by a system call of its own";
}

/// Facts outside of the program's status come first; else the status is passed on.
int tell_outcome(const record_command& c, const record_status& told, const child_result& result,
                 const std::string& path, const recording_summary& sum, const std::set<int>& whole) {
  const program_facts facts = inspect_program(c.program.front());
  const std::string failure = told.failure(c.directory);
  std::vector<record_status::unfinished> unfinished = told.unfinished_processes();
  std::erase_if(unfinished, [&](const record_status::unfinished& p) { return whole.contains(p.process); });
  const recording_losses losses = find_losses(unfinished, result, path, sum);
  const bool blind = has_own_malloc(facts.kind) && sum.events == 0;
  const bool nothing = (!told.any_trace() && !sum.has_trace) || blind;
  if (!failure.empty())
    return complain("record", "the trace is incomplete: " + failure + own_status(result.status), exit_not_whole);
  if (nothing && sum.others.empty() && !losses.is_untold)
    return complain("record",
                    "nothing was recorded: " + why_nothing(c, facts, result.status) + own_status(result.status),
                    exit_not_loaded);
  if (has_own_malloc(facts.kind)) complain("record", describe(facts, the_recorder));
  if (!c.quiet) complain("record", sum.text);
  if (losses.text.empty()) return result.status;
  const std::string incomplete = "the recording is incomplete: " + losses.text;
  if (!losses.is_untold) return complain("record", incomplete, result.status);
  return complain("record", incomplete + own_status(result.status), exit_not_whole);
}

/// Returns: a number that no other recording has; not 0.
std::uint64_t new_session() {
  std::random_device random;
  return (std::uint64_t{random()} << 32 | random()) | 1;
}

/// Processes that still run write to their traces themselves.
void append_memory(const memory_watch& watch, const record_status& told, const std::string& path,
                   const recording_summary& sum) {
  std::set<std::uint32_t> running;
  for (const record_status::unfinished& p : told.unfinished_processes())
    if (p.is_running) running.insert(static_cast<std::uint32_t>(p.process));
  watch.append_to(path);
  for (const process_trace& t : sum.others)
    if (!running.contains(t.process)) watch.append_to(t.path);
}

/// Returns: what a directory has, whose traces have got their numbers. Effects: `path` becomes that of the first.
recording_summary summarise_tree(const process_tree& tree, const child_result& result, std::string& path) {
  recording_summary sum;
  sum.text = fmt::format("{} in {}; {}", counted(tree.processes.size(), "process", "processes"), tree.directory,
                         largest_text(tree));
  for (const tree_process& p : tree.processes) {
    process_trace t{.path = tree.path_of(p), .process = p.pid, .events = p.events, .start_ns = p.start_ns};
    if (p.ppid != 0 || p.pid != static_cast<std::uint32_t>(result.process)) sum.others.push_back(std::move(t));
    else path = t.path, sum.events = t.events, sum.has_trace = true;
  }
  for (const std::string& note : tree.notes) complain("record", note);
  return sum;
}

/// Returns: the bytes of a size; 0 for an empty one, and for a mistake.
std::uint64_t bytes_of(const std::string& size) {
  std::size_t bytes = 0;
  return drop_in::parse_bytes(size, bytes) ? bytes : 0;
}

std::string check_size(const std::string& size) {
  return bytes_of(size) != 0 ? "" : "'" + size + "' is no size such as 500M or 2G";
}

int record_program(record_command c) {
  const std::string file = inspect_program(c.program.front()).path;
  if (is_same_file(c.output, file))
    return complain("record", c.output + " is the program itself; -o names the trace", exit_usage);
  // An older trace of that name outlives a mistyped command.
  if (const int error = start_error(file)) return complain_of_start("record", c.program.front(), error);
  const std::string library = require_companion(recorder_library);
  if (!c.directory.empty()) c.output = prepare_tree(c.directory);
  const std::string output = fs::absolute(c.output).string();
  std::error_code ignored;
  if (fs::is_fifo(output, ignored))
    return complain("record", c.output + ": is a pipe, and a trace is not written from front to back: name a file");
  if (const int error = prepare_output(output)) return complain("record", c.output + ": " + std::strerror(error));
  run_note note = note_surroundings(c.program);
  const stopwatch clock;
  const record_status told(bytes_of(c.max_size));
  if (!c.max_size.empty() && told.page() == nullptr) {
    remove_unused(output);
    return complain("record", "--max-size is counted in shared memory (shmget), which cannot be made here");
  }
  memory_watch watch(told.page());
  const std::uint64_t session = new_session();
  const child_result result = run_recorded({library, output, told.id(), c.stack_depth, c.program, session,
                                            joined(c.only, "\n"), !c.is_alone, !c.directory.empty()},
                                           [&] { return watch.look(); });
  if (result.error != 0) {
    remove_unused(output);
    return complain_of_start("record", c.program.front(), result.error);
  }
  note.status = result.status;
  note.seconds = clock.seconds();
  std::string path = with_process(c.output, result.process);
  const std::set<int> whole = take_leftovers(path, c.output, session);
  append_note(path, note);
  recording_summary sum = summarise_recording(path, c.output, session);
  append_memory(watch, told, path, sum);
  if (!c.directory.empty() && (sum.has_trace || !sum.others.empty()))
    sum = summarise_tree(finish_tree(c.directory, session, result), result, path);
  return tell_outcome(c, told, result, path, sum, whole);
}

int record_verb(int argc, char** argv) {
  record_command c;
  CLI::App app("ashlar record [-o FILE|DIRECTORY/] [OPTION]... -- PROGRAM [ARGUMENT]...\n\n"
               "Runs a program and records each of its allocations and frees.\n"
               "Processes that it starts are recorded too, each to its own file: FILE.<process id>, or in a directory\n"
               "0001.trace, 0002.trace, ..., beside index.jsonl, which tells of each.",
               argv[0]);
  app.footer("Exit status: that of the program, or 128 + the signal that ended it. 124 nothing was recorded,\n"
             "125 a trace was not written to its end (the disk was full, there was no memory for it, the traces\n"
             "had --max-size, a process that it started was killed), 126 and 127 the program cannot be run or\n"
             "found, 1 the trace cannot be made, 2 the command line is invalid.");
  add_value(app, "-o,--output FILE", c.output,
            "The trace; %p stands for the process id (default: PROGRAM.trace). A name that ends in / "
            "stands for a directory of traces, as one that exists does");
  add_value(app, "--stacks N", c.stack_depth,
            "Frames of each call stack to record, at most 128; 0 records none, and costs a third to three "
            "quarters less time")
      ->capture_default_str()
      ->check(CLI::Range(0U, recorder::max_stack_depth));
  add_value(app, "--only PATTERN", c.only,
            "Record only programs of this name, in which * and ? stand for other characters; may be given again")
      ->allow_extra_args(false)
      ->check([](const std::string& name) { return std::string(name.empty() ? "a program has a name" : ""); });
  app.add_flag("--no-children", c.is_alone, "Record the program alone, not the processes that it starts");
  add_value(app, "--max-size SIZE", c.max_size,
            "Stop recording when the traces together have SIZE, in bytes or with k, M, G (2G); the program runs on")
      ->check(check_size);
  app.add_flag("-q,--quiet", c.quiet, "Print no summary");
  if (const auto status = parse_with_program(app, argc, argv, c.program)) return *status;
  if (c.output.empty()) c.output = fs::path(c.program.front()).filename().string() + ".trace";
  if (c.output.starts_with('-')) c.output.insert(0, "./");  // no option of who reads it
  if (is_tree(c.output)) c.directory = fs::path(c.output).lexically_normal().string();
  // The recorder puts a process id in the place of the first %p of a path, and makes no directory.
  if (c.directory.find("%p") != std::string::npos)
    throw usage_error(c.directory + ": the name of a directory has no %p; see ashlar record --help");
  return record_program(c);
}

const verb_registration record_registration({"record", "run a program and record its allocations", record_verb});

}  // namespace

}  // namespace ashlar::cli
