// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar advise`: for each call site of a recorded program the remedy that its trace supports, or none.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/advise/advice.hpp"
#include "cli/advise/builds.hpp"
#include "cli/report/trace.hpp"
#include "cli/support/output.hpp"
#include "cli/support/parse.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

struct advise_options {
  std::vector<std::string> traces;
  std::string plan;
  std::string json;
  std::size_t top = 8;
  double pair_ns = advice_limits{}.pair_ns;
  double program_seconds = 0;
  bool prefix = false;
};

using trace_inputs = std::vector<std::unique_ptr<trace_input>>;

void add_options(CLI::App& app, advise_options& o) {
  app.add_option("TRACE", o.traces, "Traces of one program, written by 'ashlar record --stacks N'")->required();
  app.add_option("-o,--output", o.plan,
                 "Write the sites that a pool or an arena serves to PLAN, for 'ashlar run --plan'")
      ->type_name("PLAN");
  app.add_option("--json", o.json, "Write every site with all its features to FILE; - is standard output")
      ->type_name("FILE");
  app.add_option("--top", o.top, "Print at most N sites with a remedy")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--pair-ns", o.pair_ns, "Nanoseconds of a malloc and its free, for the bounds")
      ->check(CLI::Range(0.1, 1e6))
      ->type_name("NS")
      ->capture_default_str();
  app.add_option("--program-seconds", o.program_seconds,
                 "Seconds that the program takes unrecorded: bounds become shares of it")
      ->check(CLI::Range(1e-6, 1e9))
      ->type_name("SECONDS");
  app.add_flag("--damaged", o.prefix, "Advise on the part of a damaged trace before the damage");
  app.footer(
      "Each gain has its level: BOUND is the time of the calls, SIMULATED the memory and the calls of the remedy\n"
      "on this trace; neither is a measured gain. docs/advise.md describes rules and limits.\n\n"
      "Exit status: 0 advised, 1 a trace cannot be read or a file not written, 2 the command line is invalid.");
}

/// The first module is the program.
trace::mapped_module program_of(const trace_input& input) {
  return input.modules().empty() ? trace::mapped_module{} : input.modules().front();
}

std::string build_of(const trace_input& input) { return program_of(input).build_id; }

/// Sites of several builds have nothing in common.
void require_same_build(const trace_inputs& inputs) {
  for (const auto& input : inputs)
    if (build_of(*input) != build_of(*inputs.front()))
      throw std::runtime_error(
          fmt::format("{}: recorded from another build than {}", input->path(), inputs.front()->path()));
}

trace_inputs open_traces(const advise_options& o) {
  trace_inputs inputs;
  for (const std::string& path : o.traces) inputs.push_back(std::make_unique<trace_input>(path, o.prefix));
  require_same_build(inputs);
  return inputs;
}

void observe(trace_input& input, const call_tree::stack_ids& ids, site_observer& seen) {
  seen.begin_trace(ids);
  while (const auto event = input.next()) seen.add(*event);
  seen.end_trace();
}

std::string without_stacks(const trace_inputs& inputs, const program_features& p) {
  if (p.without_stack * 100 <= p.allocated.objects) return "";  // the start of a thread may have none
  const bool none = p.without_stack == p.allocated.objects;
  return fmt::format("{} has no call stacks, so there are no call sites to advise on: record with --stacks 16.",
                     none ? inputs.front()->path() : fmt::format("{} of the allocations", p.without_stack));
}

std::vector<std::string> warnings_of(const trace_inputs& inputs, const std::vector<std::string>& changed,
                                     const program_features& p) {
  std::vector<std::string> all;
  for (const auto& input : inputs)
    if (const std::string note = damage_note(input->info()); !note.empty())
      all.push_back(inputs.size() == 1 ? note : input->path() + ": " + note);
  for (const std::string& path : changed)
    all.push_back(path + " holds another build than the recorded one: its sites are shown as offsets.");
  if (const std::string note = without_stacks(inputs, p); !note.empty()) all.push_back(note);
  return all;
}

/// The program is a module of the plan though all sites lie in libraries: a plan is for one program.
void write_plan(const advise_options& o, const advice& a, const call_tree& tree, const trace::mapped_module& program) {
  std::vector<std::string> notes;
  route_plan plan = advice_plan(a, tree, notes);
  if (!plan.groups.empty() && !program.build_id.empty()) plan.modules[program.build_id] = program.path;
  write_text(o.plan, to_text(plan));
  for (const std::string& note : notes) complain("advise", note);
  if (plan.groups.empty()) complain("advise", o.plan + ": no site is served by a pool or an arena: the plan is empty");
}

int advise(const advise_options& o) {
  const trace_inputs inputs = open_traces(o);
  for (const auto& input : inputs)
    for (const std::string& output : {o.json, o.plan}) expect_other_file(*input, output);
  call_tree tree;
  std::vector<call_tree::stack_ids> ids;
  std::vector<std::vector<trace::mapped_module>> modules;
  std::vector<std::string> changed;
  for (const auto& input : inputs) {
    ids.push_back(tree.add(input->stacks(), input->modules()));
    modules.push_back(without_other_builds(input->modules(), changed));
  }
  tree.finish();
  site_observer seen(tree);
  for (std::size_t i = 0; i < inputs.size(); ++i) observe(*inputs[i], ids[i], seen);
  site_names names(tree, modules);
  advice a;
  a.program = inputs.front()->program();
  a.traces = o.traces;
  a.features = seen.program();
  a.limits.pair_ns = o.pair_ns;
  a.limits.program_ns = o.program_seconds * 1e9;
  a.warnings = warnings_of(inputs, changed, a.features);
  a.sites = choose_sites(tree, seen, names, a.limits);
  if (o.json != "-" && o.plan != "-") fmt::print("{}", advice_text(a, tree, o.top));
  if (!o.json.empty()) write_json(o.json, advice_json(a, tree, names));
  if (!o.plan.empty()) write_plan(o, a, tree, program_of(*inputs.front()));
  return exit_ok;
}

int run(int argc, char** argv) {
  CLI::App app("Names for each call site of a recorded program what should stand in place of its allocations, and what "
               "bounds the gain; or to change nothing.",
               argv[0]);
  advise_options options;
  add_options(app, options);
  if (const auto status = parse(app, argc, argv)) return *status;
  return advise(options);
}

const verb_registration registration({"advise", "name the remedy for each call site of a recorded program", run});

}  // namespace

}  // namespace ashlar::cli
