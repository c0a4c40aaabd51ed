// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar verify`: whether B gains or loses against A, with an interval and an exit status.
#include "cli/support/verb.hpp"
#include "cli/replay/candidates.hpp"
#include "cli/replay/run.hpp"
#include "cli/rounds/rounds.hpp"
#include "cli/rounds/text.hpp"
#include "cli/routes/handover.hpp"
#include "cli/routes/plan.hpp"
#include "cli/support/companion.hpp"
#include "cli/support/inspect_program.hpp"
#include "cli/support/output.hpp"
#include "cli/support/parse.hpp"
#include "cli/support/text.hpp"
#include "cli/verify/attribute.hpp"
#include "cli/verify/experiment.hpp"

namespace ashlar::cli {

namespace {

const std::string see_help = "; see ashlar verify --help";

struct verify_options {
  std::string a;
  std::string b;
  std::string malloc = "libashlar.so";
  std::string against;      ///< The malloc of A; empty: its own.
  std::string routes;       ///< The file of a plan.
  route_plan routed;        ///< Its contents, for the program.
  bool attributes = false;  ///< To each group its effect.
  std::string reduced;      ///< The file for the groups that gain.
  bool malloc_given = false;
  experiment_options how;
  std::vector<std::string> inputs;
  std::string json;
  experiment_plan plan;
  std::vector<std::string> program;
};

CLI::Option* add_options(CLI::App& app, verify_options& o) {
  add_value(app, "--a CMD", o.a, "The command to compare with (default: PROGRAM as it is)");
  add_value(app, "--b CMD", o.b, "The command to judge (default: PROGRAM under another malloc)");
  CLI::Option* const malloc =
      add_value(app, "--malloc LIB", o.malloc, "That malloc: mimalloc, jemalloc, tcmalloc, or a library by its path")
          ->capture_default_str();
  add_value(app, "--against LIB", o.against, "PROGRAM under this malloc is A: what B adds to it, or takes from it");
  add_value(app, "--plan FILE", o.routes, "PROGRAM as under 'ashlar run --plan FILE' is B, instead");
  app.add_flag("--attribute", o.attributes,
               "With --plan: the effect of each group, from runs with a random half of them");
  add_value(app, "-o FILE", o.reduced, "With --attribute, write the plan of the groups that gain to FILE");
  add_value(app, "--inputs PATH...", o.inputs,
            "Files, or folders of files, to run on in turn: as standard input, or in place of {} in the command. "
            "Take others than B was made with");
  add_experiment_options(app, o.how);
  app.add_flag("--spans", o.plan.spans,
               "Time the program's spans (ashlar::span, ashlar_record.h): B loses if the 99th percentile of one does");
  add_value(app, "--json FILE", o.json, "Write every run to FILE; - is standard output");
  app.footer(
      "CMD is started without a shell, unless it has a character of the shell's own.\n"
      "A and B must do and print the same. docs/verify.md describes the method.\n\n"
      "Exit status: 0 a gain, or level, 1 a program cannot be run or dies, B does something else, or\n"
      "--spans has nothing to compare or too few runs, 2 the command line is invalid, 3 a loss, 4 more runs would\n"
      "decide, 5 the machine is unfit: A differs from itself.");
  return malloc;
}

program_side side_of(const std::string& command) {
  try {
    return {.command = command_words(command), .shown = command};
  } catch (const std::invalid_argument& error) {
    throw usage_error(error.what() + see_help);
  }
}

/// Throws: `usage_error`, or `std::runtime_error` for a program that nothing can be preloaded into, or a library that
/// is no malloc: B would be A.
program_side under_malloc(const std::string& malloc, const std::vector<std::string>& program) {
  const candidate chosen = named_libraries({malloc}).front();
  program_side side = checked_under_library(chosen, program, "verify");
  expect_malloc(chosen);
  return side;
}

/// Throws: `std::runtime_error` for a plan that cannot be read, or is for another build.
program_side under_plan(verify_options& o) {
  const program_facts program = inspect_program(o.program.front());
  std::string obstacle = describe(program, {.name = route_library, .use = "verify"});
  o.routed = read_plan(o.routes);
  if (obstacle.empty()) obstacle = bind_plan(o.routed, program.path);
  if (!obstacle.empty()) throw std::runtime_error(obstacle);
  return under_routes(o.routed, o.routes, o.program);
}

program_side first_side(const verify_options& o) {
  if (!o.a.empty()) return side_of(o.a);
  if (!o.against.empty()) return under_malloc(o.against, o.program);
  return {.command = o.program, .shown = shell_line(o.program)};
}

program_side other_side(verify_options& o) {
  if (!o.b.empty()) return side_of(o.b);
  return o.routes.empty() ? under_malloc(o.malloc, o.program) : under_plan(o);
}

void expect_attribution(const verify_options& o) {
  if (o.attributes && o.routes.empty()) throw usage_error("--attribute needs --plan" + see_help);
  if (o.attributes && (!o.json.empty() || o.plan.spans))
    throw usage_error("--json and --spans are of no use with --attribute" + see_help);
  if (o.attributes && o.how.rare_option->count() != 0)
    throw usage_error("--rare is of no use with --attribute" + see_help);
  if (o.attributes && !o.against.empty()) throw usage_error("--against is of no use with --attribute" + see_help);
  if (!o.reduced.empty() && !o.attributes) throw usage_error("-o needs --attribute" + see_help);
}

void set_sides(verify_options& o) {
  if (!o.a.empty() && !o.program.empty()) throw usage_error("either --a or PROGRAM is A, not both" + see_help);
  if (o.a.empty() && o.program.empty()) throw usage_error("no A: neither --a nor PROGRAM is given" + see_help);
  if (o.b.empty() && !o.a.empty()) throw usage_error("no B: --a needs --b" + see_help);
  if (!o.b.empty() && (o.malloc_given || !o.routes.empty()))
    throw usage_error("--malloc and --plan are of no use with --b" + see_help);
  expect_attribution(o);
  if (o.malloc_given && !o.routes.empty()) throw usage_error("B is under --malloc or --plan, not both" + see_help);
  if (!o.a.empty() && !o.against.empty()) throw usage_error("--against is of no use with --a" + see_help);
  o.plan.a = first_side(o);
  o.plan.b = other_side(o);
  if (!o.against.empty() && o.b.empty() && o.plan.a.library == o.plan.b.library)
    throw usage_error("--against names the malloc of B: A and B are the same" + see_help);
}

void check_outputs(const verify_options& o) {
  std::vector<input_file> inputs = {{o.routes, "plan"}};
  for (const program_side* const side : {&o.plan.a, &o.plan.b}) {
    inputs.push_back({inspect_program(side->command.front()).path, "program"});
    inputs.push_back({side->library, "library"});
  }
  for (const std::string& input : o.plan.inputs) inputs.push_back({input, "input"});
  expect_outputs({o.json, o.reduced}, inputs);
}

void finish(verify_options& o) {
  set_sides(o);
  o.plan.inputs = input_files(o.inputs);
  apply(o.how, o.plan);
  check_outputs(o);
}

void print(const verification& v, const experiment& found, const experiment_plan& plan) {
  print_text(fmt::format("A: {}\nB: {}\n\n{}\n{}\n{}", plan.a.shown, plan.b.shown, paragraph(verdict_sentence(v, plan)),
                         effect_table(v), bullets(verify_notes(v, found, plan))));
}

int attribute_groups(const verify_options& o) {
  constexpr double error = 0.01;
  plan_parts each_group;
  for (std::size_t i = 0; i < o.routed.groups.size(); ++i) each_group.push_back({i});
  program_player player(o.plan.a, "the program", o.plan.inputs, o.plan.seed);
  player.begin();
  const attribution found = attribute(
      player, {.routes = &o.routed, .routed = &o.plan.b, .parts = std::move(each_group), .error = error}, o.plan);
  if (is_unfit(found.itself, o.plan.threshold)) {
    print_text(paragraph(unfit_text(found.itself, o.plan.decides)));
    return exit_unfit;
  }
  print_text(attribution_text(found, o.plan.threshold) + "\n" +
             paragraph(fmt::format("{} of runs with a random half of the groups and with the others (--seed {}). A "
                                   "plan keeps the groups that gain. {}",
                                   counted(found.pairs, "pair"), o.plan.seed, itself_note(found.itself))));
  if (!o.reduced.empty()) {
    const route_plan kept = reduced(o.routed, found, o.plan.threshold);
    write_text(o.reduced, to_text(kept));
    if (o.reduced != "-")
      fmt::print("{} of {} {}: {}{}\n", kept.groups.size(), counted(o.routed.groups.size(), "group"),
                 kept.groups.size() == 1 ? "gains" : "gain", o.reduced, kept.groups.empty() ? " routes nothing" : "");
  }
  return exit_ok;
}

int verify(const verify_options& o) {
  if (o.attributes) return attribute_groups(o);
  const experiment found = run_experiment(o.plan);
  const verification v = conclude(found, o.plan);
  if (o.json != "-") print(v, found, o.plan);
  if (!o.json.empty()) write_json(o.json, verify_json(v, found, o.plan));
  return exit_status_of(v.decision);
}

/// Everything after "--" belongs to the program.
int verify_verb(int argc, char** argv) {
  verify_options o;
  CLI::App app("ashlar verify [OPTION]... [--against LIB] [--malloc LIB | --plan FILE] -- PROGRAM [ARGUMENT]...\n"
               "       ashlar verify [OPTION]... --a CMD --b CMD\n\n"
               "Runs A and B in pairs, and finds whether B is a gain, level or a loss, with an interval.",
               argv[0]);
  const CLI::Option* const malloc = add_options(app, o);
  char** const dashes = std::find(argv, argv + argc, std::string_view("--"));
  if (const auto status = parse(app, static_cast<int>(dashes - argv), argv)) return *status;
  if (dashes != argv + argc) o.program.assign(dashes + 1, argv + argc);
  o.malloc_given = malloc->count() != 0;
  finish(o);
  return verify(o);
}

const verb_registration verify_registration({"verify", "find whether a change of a program is a gain, or a loss",
                                             verify_verb});

}  // namespace

}  // namespace ashlar::cli
