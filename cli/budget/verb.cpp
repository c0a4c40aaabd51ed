// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar budget`: holds a program to limits of allocation, for builds that must fail where one is exceeded. A file of
// limits is refused for what is not known, since a misspelt limit would hold nothing.
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ashlar/study/summariser.hpp>

#include "cli/budget/limits.hpp"
#include "cli/record/recording.hpp"
#include "cli/report/trace.hpp"
#include "cli/support/companion.hpp"
#include "cli/support/inspect_program.hpp"
#include "cli/support/output.hpp"
#include "cli/support/parse.hpp"
#include "cli/support/temporary.hpp"
#include "cli/support/text.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

class limits_reader {
public:
  explicit limits_reader(std::string file) : file_(std::move(file)) {}

  std::vector<limit> read(std::istream& from) {
    const json all = parse(from);
    expect(all.is_object(), "an object of spans, threads and program is expected");
    for (const auto& [key, value] : all.items()) add_section(key, value);
    expect(!limits_.empty(), "there is no limit in it");
    return std::move(limits_);
  }

private:
  [[noreturn]] void refuse(const std::string& why) const { throw std::runtime_error(file_ + ": " + why); }
  void expect(bool is_met, const std::string& why) const {
    if (!is_met) refuse(why);
  }

  [[nodiscard]] json parse(std::istream& from) const {
    try {
      return json::parse(from, json_guard(), true, true);
    } catch (const std::runtime_error& error) {
      refuse(error.what());
    } catch (const json::parse_error& error) {
      const std::string what = error.what();  // "[json.exception...] parse error at line 1, column 2: ..."
      refuse(what.substr(what.find("] ") == what.npos ? 0 : what.find("] ") + 2));
    }
  }

  void add_section(const std::string& key, const json& value) {
    if (key == "program") return add_subject(budget_subject::program, "", "program", value);
    expect(key == "spans" || key == "threads",
           "unknown part '" + key + "'" + suggestion(key, {"spans", "threads", "program"}));
    expect(value.is_object(), key + ": an object of names is expected");
    const bool are_spans = key == "spans";
    for (const auto& [name, limits] : value.items())
      add_subject(are_spans ? budget_subject::span : budget_subject::thread, name,
                  (are_spans ? "span " : "thread ") + name, limits);
  }

  void add_subject(budget_subject subject, const std::string& name, const std::string& title, const json& limits) {
    expect(limits.is_object(), title + ": an object of limits is expected");
    const std::vector<std::string>& known = figures_of(subject);
    for (const auto& [figure, most] : limits.items()) {
      expect(std::find(known.begin(), known.end(), figure) != known.end(),
             title + ": unknown figure '" + figure + "'" + suggestion(figure, known) +
                 fmt::format("; known are {}", fmt::join(known, ", ")));
      expect(most.is_number_unsigned(), title + ": " + figure + ": a whole number of at least 0 is expected");
      limits_.push_back({subject, name, figure, most.get<std::uint64_t>()});
    }
  }

  std::string file_;
  std::vector<limit> limits_;
};

namespace fs = std::filesystem;

constexpr int exit_exceeded = 3;

struct command {
  std::string limits;
  std::string write;  ///< The file of limits to make; empty: none.
  std::string trace;
  std::string json;
  std::vector<std::string> program;
};

struct checked_limit {
  limit allowed;
  std::optional<std::uint64_t> found;  ///< None: the trace has no such span or thread, so that nothing was held to it.

  [[nodiscard]] bool is_kept() const noexcept { return found && *found <= allowed.most; }
};

std::uint64_t figure_of(const study::span_summary& s, const std::string& figure) {
  if (figure == "count") return s.count();
  if (figure == "allocations") return s.most_allocations;
  if (figure == "bytes") return s.most_bytes;
  if (figure == "peak_bytes") return s.most_peak_bytes;
  return s.durations_ns.quantile(figure == "p50_ns" ? 0.5 : figure == "p99_ns" ? 0.99 : 0.999);
}

std::uint64_t figure_of(const study::thread_summary& t, const std::string& figure) {
  return figure == "allocations" ? t.allocations : figure == "bytes" ? t.bytes : t.peak_bytes;
}

std::uint64_t figure_of(const study::trace_summary& s, const std::string& figure) {
  if (figure == "allocations") return s.allocated.objects;
  if (figure == "bytes") return s.allocated.bytes;
  return figure == "peak_bytes" ? s.peak.bytes : s.live.bytes;
}

void raise(std::optional<std::uint64_t>& greatest, std::uint64_t figure) {
  greatest = std::max(greatest.value_or(0), figure);
}

std::optional<std::uint64_t> find_figure(const limit& l, const study::trace_summary& sum,
                                         const trace::name_table& names) {
  std::optional<std::uint64_t> greatest;
  if (l.subject == budget_subject::program) raise(greatest, figure_of(sum, l.figure));
  if (l.subject == budget_subject::span)
    for (const auto& [name, span] : sum.spans.by_name)
      if (names[name] == l.name && span.count() != 0) raise(greatest, figure_of(span, l.figure));
  if (l.subject == budget_subject::thread)
    for (const auto& [id, thread] : sum.threads)
      if (thread.name != 0 && names[thread.name] == l.name) raise(greatest, figure_of(thread, l.figure));
  return greatest;
}

const char* title_of(budget_subject subject) {
  return subject == budget_subject::span ? "span " : subject == budget_subject::thread ? "thread " : "program";
}

/// Returns: each limit with the greatest figure of its subjects: a limit holds for each thread of the name, and for
/// each span but in `count`.
std::vector<checked_limit> check_limits(const std::vector<limit>& limits, const study::trace_summary& sum,
                                        const trace::name_table& names) {
  std::vector<checked_limit> all;
  for (const limit& each : limits) all.push_back({each, find_figure(each, sum, names)});
  return all;
}

/// Returns: the counts and peaks of a trace as limits, which it keeps: of the program, and of each span and thread of a
/// name. No times, which vary.
std::vector<limit> limits_of(const study::trace_summary& sum, const trace::name_table& names) {
  std::set<std::pair<budget_subject, std::string>> subjects = {{budget_subject::program, ""}};
  for (const auto& [name, span] : sum.spans.by_name)
    if (span.count() != 0) subjects.emplace(budget_subject::span, names[name]);
  for (const auto& [id, thread] : sum.threads)
    if (thread.name != 0) subjects.emplace(budget_subject::thread, names[thread.name]);
  std::vector<limit> all;
  for (const auto& [subject, name] : subjects)
    for (const std::string& figure : figures_of(subject)) {
      if (figure.ends_with("_ns")) continue;
      limit& each = all.emplace_back(limit{subject, name, figure, 0});
      each.most = find_figure(each, sum, names).value_or(0);
    }
  return all;
}

/// Returns: a sentence each on threads that `limits_of` has no limits of, as they have no name, and on threads of one
/// name, which share their limits.
std::vector<std::string> notes_on_threads(const study::trace_summary& sum, const trace::name_table& names) {
  std::size_t unnamed = 0;
  std::map<std::string, std::size_t> threads_of;
  for (const auto& [id, thread] : sum.threads) {
    if (thread.name == 0) ++unnamed;
    else ++threads_of[std::string(names[thread.name])];
  }
  std::vector<std::string> notes;
  if (unnamed != 0)
    notes.push_back(
        counted(unnamed, "thread") +
        " without a name, of which there are no limits: os::name_thread or pthread_setname_np names a thread");
  for (const auto& [name, threads] : threads_of)
    if (threads > 1)
      notes.push_back(counted(threads, "thread") + " of the name " + printable(name) +
                      ", each of which is held to the limits of the worst");
  return notes;
}

std::string limits_text(const std::vector<checked_limit>& all) {
  text_table table({{"", side::left}, {"of", side::left}, {"figure", side::left}, {"found"}, {"allowed"}});
  for (const checked_limit& each : all)
    table.add({each.is_kept() ? "ok"
               : each.found   ? "OVER"
                              : "ABSENT",
               title_of(each.allowed.subject) + each.allowed.name, each.allowed.figure,
               each.found ? grouped(*each.found) : "-", grouped(each.allowed.most)});
  return table.str();
}

std::vector<limit> limits_in(const std::string& file) {
  std::istringstream from(read_text(file));
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
  if (c.json != "-") print_text(limits_text(all));
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
    else fmt::print("{}", paragraph(note, "· "));
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

const char* mistake_of(const command& c) {
  if (c.program.empty() == c.trace.empty()) return "either --trace TRACE or -- PROGRAM is needed, and not both";
  if (c.limits.empty() == c.write.empty()) return "either LIMITS or --write FILE is needed, and not both";
  if (!c.write.empty() && !c.json.empty()) return "--json is of no use with --write";
  const bool uses_output = c.write == "-" || c.json == "-";
  return uses_output && !c.program.empty() ? "PROGRAM has standard output: '-' is for --trace" : nullptr;
}

void check_outputs(const command& c) {
  std::vector<input_file> inputs = {{c.limits, "file of limits"}, {c.trace, "trace"}};
  if (!c.program.empty()) inputs.push_back({inspect_program(c.program.front()).path, "program"});
  expect_outputs({c.write, c.json}, inputs);
}

int budget_verb(int argc, char** argv) {
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
  add_value(app, "--write FILE", c.write,
            "Write the counts and peaks of this run to FILE, as LIMITS; with --trace, - is standard "
            "output");
  add_value(app, "--trace TRACE", c.trace, "Hold a recorded trace to the limits in place of a run");
  add_value(app, "--json FILE", c.json, "Write the result to FILE; with --trace, - is standard output");
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

const verb_registration budget_registration({"budget", "fail where a program exceeds limits of allocation",
                                             budget_verb});

}  // namespace

const std::vector<std::string>& figures_of(budget_subject subject) {
  static const std::vector<std::string> span = {"count",  "allocations", "bytes",   "peak_bytes",
                                                "p50_ns", "p99_ns",      "p99_9_ns"};
  static const std::vector<std::string> thread = {"allocations", "bytes", "peak_bytes"};
  static const std::vector<std::string> program = {"allocations", "bytes", "peak_bytes", "never_freed_bytes"};
  return subject == budget_subject::span ? span : subject == budget_subject::thread ? thread : program;
}

std::string limits_file(const std::vector<limit>& limits) {
  json all;
  for (const limit& each : limits) switch (each.subject) {
      case budget_subject::program: all["program"][each.figure] = each.most; break;
      case budget_subject::span: all["spans"][each.name][each.figure] = each.most; break;
      case budget_subject::thread: all["threads"][each.name][each.figure] = each.most; break;
    }
  try {
    return all.dump(2) + "\n";
  } catch (const json::type_error&) {
    throw std::runtime_error("the name of a span or thread is not UTF-8, and cannot stand in a file of limits");
  }
}

std::vector<limit> read_limits(std::istream& from, const std::string& file) { return limits_reader(file).read(from); }

}  // namespace ashlar::cli
