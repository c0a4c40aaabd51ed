// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar advise`: for each call site of a recorded program the remedy that its trace supports, or none.
#include <iterator>

#include "cli/advise/advice.hpp"
#include "cli/advise/measurement.hpp"
#include "cli/advise/repetition.hpp"
#include "cli/html/page.hpp"
#include "cli/preload/status.hpp"
#include "cli/record/processes.hpp"
#include "cli/replay/candidates.hpp"
#include "cli/report/trace.hpp"
#include "cli/routes/handover.hpp"
#include "cli/routes/plan.hpp"
#include "cli/support/output.hpp"
#include "cli/support/parse.hpp"
#include "cli/support/text.hpp"
#include "cli/support/verb.hpp"
#include "cli/tree/tree.hpp"
#include "cli/verify/experiment.hpp"

namespace ashlar::cli {

namespace {

struct advise_options {
  std::vector<std::string> traces;
  std::string process;
  std::string plan;
  std::string json;
  std::string html;
  std::size_t top = 8;
  double pair_ns = advice_limits{}.pair_ns;
  double program_seconds = 0;
  std::vector<std::string> rules;
  bool prefix = false;
  std::string measure;
  std::string only;
  std::string budget;
  experiment_options judging;
  measure_options measured;
};

using trace_inputs = std::vector<std::unique_ptr<trace_input>>;

std::string check_level(const std::string& text) {
  return text == "none" || text == "replay" || text == "run" ? "" : "'" + text + "' is none of none, replay, run";
}

std::string check_only(const std::string& text) { return text == "mallocs" ? "" : "'" + text + "' is not mallocs"; }

std::string check_measure_budget(const std::string& text) {
  return budget_seconds(text) >= 1 ? "" : "'" + text + "' is no time of 1 s or more, such as 60s or 2m";
}

double default_seconds(measure_level level) {
  return level == measure_level::usual ? usual_seconds : remedy_request{}.seconds;
}

void add_measure_options(CLI::App& app, advise_options& o) {
  add_value(app, "--measure HOW", o.measure,
            "none; replay: the trace on the mallocs of this machine; run: the program itself under other mallocs, "
            "other pages, and the plan, some hundred times (default: run for at most 20 s, if the trace shows that its "
            "command can be repeated: it ended with status 0, and its input is there again)")
      ->check(check_level);
  add_value(app, "--only WHAT", o.only, "mallocs: with --measure run, neither other pages nor the plan")
      ->check(check_only);
  add_value(app, "--with NAME,...", o.measured.request.with,
            "The mallocs to measure, or libraries by their paths (default: libashlar.so, mimalloc, jemalloc, "
            "tcmalloc)")
      ->delimiter(',');
  CLI::Option* const budget =
      add_value(app, "--budget TIME", o.budget,
                "Time for --measure, in seconds or minutes (2m) (default: 60s, or 20s without --measure)")
          ->check(check_measure_budget);
  add_value(app, "--rounds N", o.measured.request.rounds, "Play exactly this many rounds of runs in each stage instead")
      ->check(CLI::Range(std::size_t{2}, most_rounds))
      ->excludes(budget);
  add_value(app, "--input FILE", o.measured.request.input,
            "The program's standard input, each time from its start (default: none)")
      ->check(CLI::ExistingFile);
  add_value(app, "--memory-price PERCENT", o.measured.request.memory_price,
            "Percent of peak RSS that 1 % of time may cost, to choose among the remedies that gain (default: of those "
            "whose intervals overlap that of the fastest, the one with the least peak RSS)")
      ->check(CLI::Range(0.01, 1e4));
  add_judging_options(app, o.judging);
}

void add_options(CLI::App& app, advise_options& o) {
  app.add_option("TRACE", o.traces,
                 "Traces of one program, written by 'ashlar record --stacks N', or a directory of traces")
      ->required();
  add_value(app, "--process WHICH", o.process,
            "Of the processes of one recording: largest, the one with the most events (the default for one TRACE); "
            "root, the one that record started; or a process id. In a directory also the number of a process, or the "
            "name of its program (default there: each program with 5 % of the events or more)");
  add_value(app, "-o,--output PLAN", o.plan,
            "Write the sites whose long-lived objects are worth memory of their own to PLAN, for 'ashlar run "
            "--plan'");
  add_value(app, "--json FILE", o.json, "Write every site with all its features to FILE; - is standard output");
  add_value(app, "--html FILE", o.html, "Write a page with plots, flame graph and table of sites to FILE");
  add_value(app, "--top N", o.top, "Print at most N sites with a remedy, and N groups of the plan")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}))
      ->capture_default_str();
  add_value(app, "--pair-ns NS", o.pair_ns, "Nanoseconds of a malloc and its free, for the estimates")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  add_value(app, "--program-seconds SECONDS", o.program_seconds,
            "Seconds that the program takes unrecorded: estimates become shares of it")
      ->check(CLI::Range(1e-6, 1e9));
  add_value(app, "--rule NAME=VALUE", o.rules,
            "Set a threshold of the rules; may be given again (docs/advise-rules.md)")
      ->check(check_threshold_text)
      ->allow_extra_args(false);
  app.add_flag("--damaged", o.prefix, "Advise on the part of a damaged trace before the damage");
  app.footer(
      "Each gain has its level: ESTIMATE is the time of the calls, SIMULATED the memory and calls of the remedy on\n"
      "this trace, PREDICTED the time of a replay, MEASURED that of the unmodified program. docs/advise.md and\n"
      "docs/advise-rules.md describe rules and limits, docs/advise-measure.md the measurement. PROGRAM is the "
      "recorded\n"
      "command unless given.\n\n"
      "Where the trace shows that its command can be repeated, at most 20 s of running it, with its side effects,\n"
      "are the default; --measure none switches that off.\n\n"
      "Exit status: 0 advised, 1 a trace or the program failed, or a file cannot be written, 2 the command line is\n"
      "invalid, 3 the plan of -o is empty, as no group of sites was measured to gain (unmeasured: 0). With --measure\n"
      "run 4 more runs would decide, 5 the machine is unfit: the program differs from itself.");
}

/// The first module is the program.
trace::mapped_module program_of(const trace_input& input) {
  return input.modules().empty() ? trace::mapped_module{} : input.modules().front();
}

std::string why_apart(const trace_input& input, const trace_input& first) {
  const bool is_known = !input.build_id().empty();
  if (is_known && !first.build_id().empty())
    return fmt::format("{}: recorded from another build than {}", input.path(), first.path());
  const auto& [unknown, other] = is_known ? std::tie(first, input) : std::tie(input, first);
  return fmt::format("{} {}, so nothing shows that its program is the one of {}", unknown.path(),
                     unknown.modules().empty() ? "was recorded without stacks" : "has no build id of its program",
                     other.path());
}

/// Sites of several builds have nothing in common.
void require_same_build(const trace_inputs& inputs) {
  for (const auto& input : inputs)
    if (input->build_id() != inputs.front()->build_id()) throw std::runtime_error(why_apart(*input, *inputs.front()));
}

trace_inputs open_traces(const advise_options& o) {
  trace_inputs inputs;
  for (const std::string& path : o.traces) inputs.push_back(std::make_unique<trace_input>(path, o.prefix));
  require_same_build(inputs);
  return inputs;
}

/// Effects: of one trace that is given, the wished process of its recording is advised.
void take_process(advise_options& o, advice& a) {
  if (o.traces.size() != 1) return;
  const process_choice choice = choose_process(o.traces.front(), o.process);
  a.choice = choice.text;
  a.processes = processes_json(choice);
  o.traces.front() = choice.taken.path;
}

/// Traces are compared with the memory of their processes only if all tell it.
void judge_memory(const trace_inputs& inputs, advice& a) {
  memory_peaks peaks{.malloc = a.features.peak};
  bool is_known = true;
  for (const auto& input : inputs) {
    is_known = is_known && input->info().resident_peak_bytes != 0;
    peaks.anonymous += input->info().anonymous_peak_bytes;
    a.resident_peak = std::max(a.resident_peak, input->info().resident_peak_bytes);
  }
  const trace_input& first = *inputs.front();
  if (is_known) a.own = find_own_allocator(peaks, first.program_file(), first.modules());
  else a.resident_peak = 0;
}

/// `history` is null without a page.
void observe(trace_input& input, const call_tree::stack_ids& ids, site_observer& seen, page_history* history) {
  seen.begin_trace(ids);
  if (history != nullptr) history->lanes.begin_trace(input.names());
  while (const auto event = input.next()) {
    seen.add(*event);
    if (history != nullptr) history->lanes.add(*event);
  }
  seen.end_trace();
  if (history == nullptr) return;
  history->lanes.end_trace();
  const trace::trace_info& info = input.info();
  history->cut_short = history->cut_short || info.damage || info.write_error != 0 || !info.complete;
}

stack_counts stack_counts_of(const trace_inputs& inputs, const program_features& p) {
  stack_counts counts{.without = p.without_stack, .allocations = p.allocated.objects};
  for (const auto& input : inputs) {
    if (input->stacks().size() == 0) counts.unasked.push_back(input->path());
    counts.is_table_full = counts.is_table_full || input->stacks().size() >= recorder::max_stacks;
  }
  return counts;
}

/// Also of a C++ library that was linked statically.
bool calls_operator_new(const call_tree& tree, site_names& names) {
  return std::ranges::any_of(tree.nodes(), [&](const site_node& node) {
    return node.parent == site_node::none &&
           names.function_of(tree.frames(node.stack).front()).starts_with("operator new");
  });
}

/// A remedy that is a class template is of no use in C.
std::string without_cpp(const trace_inputs& inputs, const call_tree& tree, site_names& names) {
  const auto& modules = inputs.front()->modules();
  const auto is_cpp = [](const trace::mapped_module& m) {
    return m.path.find("libstdc++") != m.path.npos || m.path.find("libc++") != m.path.npos;
  };
  if (modules.empty() || std::any_of(modules.begin(), modules.end(), is_cpp) || calls_operator_new(tree, names))
    return "";
  return "The program has loaded no C++ library. Where a remedy names a C++ type, C has the heaps of ashlar_malloc.h "
         "(docs/malloc-c-api.md), and plans of routes need no code.";
}

std::vector<std::string> warnings_of(const trace_inputs& inputs, const call_tree& tree, site_names& names,
                                     const program_features& p) {
  std::vector<std::string> all;
  for (const auto& input : inputs)
    if (const std::string note = damage_note(input->info()); !note.empty())
      all.push_back(inputs.size() == 1 ? note : input->path() + ": " + note);
  std::ranges::move(names.notes(), std::back_inserter(all));
  for (const std::string& note : {missing_stacks(stack_counts_of(inputs, p)), without_cpp(inputs, tree, names)})
    if (!note.empty()) all.push_back(note);
  return all;
}

/// Returns: as `unnamed_note`, of the first sites.
std::string missing_names(const std::vector<advised_site>& sites, std::size_t top) {
  std::set<std::string> modules;
  for (const advised_site& s : std::span(sites).first(std::min(sites.size(), top)))
    if (is_unnamed(s.request.place)) modules.insert(s.request.place.module);
  return unnamed_note(modules);
}

/// Returns: why the plan has no groups; empty if it has some. `left_out`: the sites that have no route.
std::string why_no_plan(const program_features& p, const route_plan& plan, const std::vector<left_out_site>& left_out) {
  if (!plan.groups.empty()) return "";
  if (p.allocated.objects == 0) return "no allocation was recorded";
  if (p.without_stack == p.allocated.objects) return "no allocation has a call stack, so that no site is known";
  if (left_out.empty()) return "no long-lived objects are worth memory of their own";
  const std::string& first = left_out.front().text;
  const std::string none = left_out.size() == 1 ? "the only site worth memory of its own cannot be routed: "
                                                : "none of the " + counted(left_out.size(), "site") +
                                                      " worth memory of their own can be routed: ";
  return none + first.substr(0, first.find_last_not_of('.') + 1);
}

/// The program is a module of the plan though all sites lie in libraries: a plan is for one program. Effects:
/// `a.no_plan` is the reason of an empty plan.
route_plan make_plan(const advise_options& o, advice& a, const call_tree& tree, const site_observer& seen,
                     site_names& names, const trace::mapped_module& program) {
  frame_steps steps;
  const auto follows = [&](const std::string& path, std::uint64_t offset) {
    return steps.at(path, offset).has_value();
  };
  route_plan plan = advice_plan(a, tree, seen, names, follows);
  if (!plan.groups.empty() && !program.build_id.empty()) {
    plan.modules[program.build_id] = program.path;
    plan.program = program.path;  // not as the command line spells it, which may be relative
  }
  if (!o.plan.empty())
    for (const left_out_site& left : a.left_out) complain("advise", left.text);
  a.no_plan = why_no_plan(a.features, plan, a.left_out);
  a.plan = plan;
  return plan;
}

constexpr const char* unmeasured_plan = "not measured: 'ashlar verify --plan' shows whether it gains";

/// Returns: the end of the page, with the first site of each of the first `o.top` groups, or why there is none.
std::string plan_line(const advise_options& o, const advice& a, const route_plan& plan) {
  if (o.plan.empty()) return "";
  if (plan.groups.empty()) return "\n" + paragraph(fmt::format("Plan: empty, in {}: {}.", o.plan, a.no_plan));
  return fmt::format("\nPlan: {}, written to {}\n", plan_size_text(plan), o.plan) + plan_text(plan, o.top, 1);
}

void write_plan(const advise_options& o, const advice& a, route_plan plan) {
  if (plan.groups.empty()) plan.comment = a.no_plan;
  else if (a.measurement.data.is_null()) plan.comment = unmeasured_plan;
  write_text(o.plan, to_text(plan));
  if (!a.no_plan.empty()) complain("advise", o.plan + ": " + a.no_plan + ": the plan is empty");
}

/// Returns: whether it was written; complains if not.
bool succeeds(const std::function<void()>& write) {
  try {
    write();
    return true;
  } catch (const std::runtime_error& error) {
    complain("advise", error.what());
    return false;
  }
}

/// Effects: writes what the options ask for, the short after the long; one that fails does not keep back the others.
/// Of several programs JSON is collected. Returns: whether all were written.
bool write_outputs(const advise_options& o, const advice& a, const call_tree& tree, site_names& names,
                   const route_plan& plan, page_history* history, nlohmann::json* collected) {
  const bool has_plan = o.plan.empty() || succeeds([&] { write_plan(o, a, plan); });
  bool all = has_plan;
  if (collected != nullptr) collected->push_back(advice_json(a, tree, names));
  else if (!o.json.empty()) all = succeeds([&] { write_json(o.json, advice_json(a, tree, names)); }) && all;
  if (history != nullptr)
    all = succeeds([&] {
            history->live.finish();
            write_text(o.html, html_advice(make_advice_page(a, tree, names, *history)));
          }) &&
          all;
  if (o.json == "-" || o.html == "-" || o.plan == "-") return all;
  const std::string end = has_plan ? plan_line(o, a, plan) : "";
  return succeeds([&] { print_text(advice_text(a, tree, o.top) + end); }) && all;
}

void check_outputs(const advise_options& o, const trace_inputs& inputs) {
  std::vector<input_file> read;
  for (const auto& input : inputs) {
    read.push_back({input->path(), "trace"});
    read.push_back({program_of(*input).path, "program"});
  }
  read.push_back({o.measured.request.input, "input"});
  expect_outputs({o.json, o.html, o.plan}, read);
}

int advise(advise_options o, nlohmann::json* collected = nullptr) {
  advice a;
  take_process(o, a);
  advice_measurer measurer(o.measured);
  const trace_inputs inputs = open_traces(o);
  measurer.take_program(inputs);
  check_outputs(o, inputs);
  call_tree tree;
  std::vector<call_tree::stack_ids> ids;
  for (const auto& input : inputs)
    ids.push_back(tree.add(input->stacks(), input->modules(), input->info().stack_depth));
  tree.finish();
  std::optional<page_history> history;
  if (!o.html.empty()) history.emplace(tree.stack_count());
  site_observer seen(tree, history ? &history->live : nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) observe(*inputs[i], ids[i], seen, history ? &*history : nullptr);
  site_names names(tree);
  a.program = inputs.front()->program();
  a.traces = o.traces;
  a.features = seen.program();
  judge_memory(inputs, a);
  a.limits.pair_ns = o.pair_ns;
  a.limits.program_ns = o.program_seconds * 1e9;
  for (const std::string& rule : o.rules) set_threshold(a.limits, rule);
  show_progress("choosing a remedy for each call site");
  a.sites = choose_sites(tree, seen, names, a.limits);
  mark_equal_titles(a.sites, tree, names);
  a.warnings = warnings_of(inputs, tree, names, a.features);
  if (std::string note = missing_names(a.sites, o.top); !note.empty()) a.warnings.push_back(std::move(note));
  route_plan plan = make_plan(o, a, tree, seen, names, program_of(*inputs.front()));
  tell_routes(a, tree);
  const int status = measurer.measure(a, tree, plan, o.plan, o.prefix);
  if (!write_outputs(o, a, tree, names, plan, history ? &*history : nullptr, collected)) return exit_failure;
  const bool has_lost_plan = measurer.has_run() && !o.plan.empty() && plan.groups.empty();
  return status == exit_ok && has_lost_plan ? exit_no_plan : status;
}

/// Returns: the mistake of one trace given twice, which would count twice; empty if there is none.
std::string repeated_trace(const std::vector<std::string>& traces) {
  const std::string repeated = repeated_file(traces);
  return repeated.empty() ? "" : repeated + " is given twice, and would count twice";
}

/// Returns: the groups of a directory that are worth advice. Effects: `left_out` names the others.
std::vector<tree_group> worthy_groups(const process_tree& tree, std::string& left_out) {
  std::vector<tree_group> taken;
  for (tree_group& g : groups_of(tree)) {
    const bool is_worthy = taken.empty() || g.events * 20 >= tree.events;
    if (!is_worthy) left_out += (left_out.empty() ? "" : ", ") + g.name() + " (" + counted(g.events, "event") + ")";
    else taken.push_back(std::move(g));
  }
  return taken;
}

std::string group_title(const tree_group& g, const process_tree& tree) {
  return fmt::format("{}: {} of {}, {} of {}", printable(g.name()), grouped(g.processes.size()),
                     counted(tree.processes.size(), "process", "processes"), grouped(g.events),
                     counted(tree.events, "event"));
}

/// Each group has its own build, so its own plan and page.
int advise_groups(advise_options o, const process_tree& tree) {
  std::string left_out;
  const std::vector<tree_group> groups = worthy_groups(tree, left_out);
  const bool is_one = groups.size() == 1;
  if (!is_one && !(o.html.empty() && o.plan.empty()))
    throw usage_error("--html and -o are for one program, and " + tree.directory + " has " +
                      counted(groups.size(), "program") + ": --process NAME; see ashlar advise --help");
  nlohmann::json all = nlohmann::json::array();
  for (const tree_group& g : groups) {
    o.traces.clear();
    for (const tree_process* p : g.processes) o.traces.push_back(tree.path_of(*p));
    if (o.json != "-") print_text((&g == &groups.front() ? "" : "\n") + group_title(g, tree) + "\n\n");
    if (const int status = advise(o, &all); status != exit_ok) return status;
  }
  std::vector<std::string> notes = tree.notes;
  if (!left_out.empty()) notes.push_back("Left out, each with less than 5 % of the events: " + left_out + ".");
  if (o.json != "-" && !notes.empty()) print_text("\n" + bullets(notes));
  if (!o.json.empty()) write_json(o.json, {{"directory", tree.directory}, {"programs", all}, {"notes", notes}});
  return exit_ok;
}

/// Nothing is run unasked: a recording of many processes names no command of all.
int advise_directory(advise_options o) {
  const process_tree tree = read_tree(o.traces.front());
  if (o.measured.level == measure_level::usual) o.measured.level = measure_level::none;
  if (o.process.empty()) {
    if (o.measured.level != measure_level::none)
      throw usage_error("--measure is for one process of a directory: --process; see ashlar advise --help");
    return advise_groups(o, tree);
  }
  for (const std::string& note : tree.notes) complain("advise", note);
  o.traces.front() = tree.path_of(choose_process(tree, o.process));
  o.process = {};
  return advise(o);
}

/// Returns: the mistake; empty if there is none. Throws: `usage_error`.
std::string complete(advise_options& o, const CLI::App& app) {
  const auto is_given = [&app](const char* option) { return app.get_option(option)->count() != 0; };
  if (o.measure == "none") o.measured.level = measure_level::none;
  if (o.measure == "replay") o.measured.level = measure_level::replay;
  if (o.measure == "run") o.measured.level = measure_level::run;
  if (is_given("--budget") && o.measured.level == measure_level::none) return "--budget is for --measure run or replay";
  experiment_plan judging;
  apply(o.judging, judging);
  remedy_request& request = o.measured.request;
  request.seconds = o.budget.empty() ? default_seconds(o.measured.level) : budget_seconds(o.budget);
  request.only_mallocs = !o.only.empty();
  request.threshold = judging.threshold;
  request.decides = judging.decides;
  request.seed = judging.seed;
  const bool runs = o.measured.level == measure_level::run;
  if (!runs && !o.measured.request.command.empty()) return "a program after -- is for --measure run";
  for (const char* const option :
       {"--only", "--with", "--input", "--rounds", "--memory-price", "--threshold", "--metric", "--seed"})
    if (!runs && is_given(option)) return std::string(option) + " is for --measure run";
  static_cast<void>(named_libraries(o.measured.request.with));
  if (o.traces.size() != 1 && !o.process.empty()) return "--process is for one TRACE";
  if (std::string mistake = repeated_trace(o.traces); !mistake.empty()) return mistake;
  return shared_output({{"--output", o.plan}, {"--json", o.json}, {"--html", o.html}});
}

/// Everything after "--" belongs to the program.
int advise_verb(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == measure_apart_flag) return measure_in_this_process();
  CLI::App app("ashlar advise TRACE... [OPTION]... [-- PROGRAM [ARGUMENT]...]\n\n"
               "Names for each call site of a recorded program what should stand in place of its allocations, and an "
               "estimate of the gain; or to change nothing. On demand it measures the gain.",
               argv[0]);
  advise_options options;
  add_options(app, options);
  add_measure_options(app, options);
  char** const dashes = std::find(argv, argv + argc, std::string_view("--"));
  if (const auto status = parse(app, static_cast<int>(dashes - argv), argv)) return *status;
  if (dashes != argv + argc) options.measured.request.command.assign(dashes + 1, argv + argc);
  if (const std::string mistake = complete(options, app); !mistake.empty())
    throw usage_error(mistake + "; see ashlar advise --help");
  if (options.traces.size() == 1 && is_tree(options.traces.front())) return advise_directory(options);
  require_process_wish(options.process, "advise");
  return advise(options);
}

const verb_registration advise_registration({"advise", "name the remedy for each call site of a recorded program",
                                             advise_verb});

}  // namespace

}  // namespace ashlar::cli
