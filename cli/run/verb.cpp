// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar run`: becomes a program with the preloadable malloc in front of the C library's.
#include <cstdlib>

#include "cli/routes/handover.hpp"
#include "cli/routes/plan.hpp"
#include "cli/support/companion.hpp"
#include "cli/support/inspect_program.hpp"
#include "cli/support/parse.hpp"
#include "cli/support/text.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* options_variable = "ASHLAR";

struct run_command {
  std::string level = "fast";
  bool statistics = false;
  std::string plan;      ///< A file; empty: none.
  bool wrapped = false;  ///< The program is one that starts the plan's.
  bool reports = false;
  bool prints = false;               ///< The command line, in place of a start.
  std::vector<std::string> options;  ///< WORD=VALUE each.
  std::vector<std::string> program;  ///< With its arguments.
};

const malloc_library* find_level(const std::string& level) {
  for (const malloc_library& m : malloc_libraries)
    if (m.level == level) return &m;
  return nullptr;
}

int complain_of_level(const std::string& level) {
  std::vector<std::string> known;
  for (const malloc_library& m : malloc_libraries) known.emplace_back(m.level);
  const std::string meant = suggestion(level, known);
  return complain("run",
                  "unknown level '" + level + "'" + (meant.empty() ? "; it is fast, checked or hardened" : meant),
                  exit_usage);
}

/// Returns: the options that are set already, then the options of the command line, which the library reads later.
std::string option_list(const run_command& c) {
  const char* const before = std::getenv(options_variable);
  std::string all = before == nullptr ? "" : before;
  const auto append = [&all](const std::string& option) { all += (all.empty() ? "" : ",") + option; };
  if (c.statistics) append("stats=exit");
  for (const std::string& option : c.options) append(option);
  return all;
}

/// Prints what starts the program in this way without this command, whose own start takes longer than many programs.
int print_line(const run_command& c, const std::string& library, const std::vector<const char*>& variables) {
  std::string line = preload_assignment(library);
  for (const char* const name : variables) line += std::string(" ") + name + "=" + shell_word(std::getenv(name));
  std::puts((line + " " + shell_line(c.program)).c_str());
  return exit_ok;
}

/// `routes`: handed over to the router; empty: none.
int start(const run_command& c, const std::string& library, const std::string& routes = {}) {
  std::vector<const char*> variables;
  const auto set = [&variables](const char* name, const std::string& value) {
    if (value.empty()) return;
    ::setenv(name, value.c_str(), 1);
    variables.push_back(name);
  };
  set(options_variable, option_list(c));
  set(route_variable, routes);
  if (c.prints) return print_line(c, library, variables);
  return complain_of_start("run", c.program.front(), become_with(library, c.program));
}

/// Returns: the plan's sites, as a page at most.
std::string report_head(const route_plan& plan, const std::string& name) {
  return "ashlar run: " + name + ": " + plan_size_text(plan) + "\n" + plan_page_text(plan);
}

/// Returns: why the plan is not for the program; empty if it is.
std::string plan_obstacle(route_plan& plan, const std::string& program, bool is_wrapped) {
  std::string obstacle = bind_plan(plan, is_wrapped ? plan.program : program);
  const bool may_start_it = !obstacle.empty() && !is_wrapped && bind_plan(plan, plan.program).empty();
  if (may_start_it) obstacle += "; --wrapped, if it starts that one";
  return obstacle;
}

int run_by_plan(const run_command& c) {
  if (c.level != "fast") return complain("run", "--plan is for the level fast", exit_usage);
  const std::string library = require_companion(route_library);
  const program_facts program = inspect_program(c.program.front());
  if (::access(program.path.c_str(), F_OK) != 0) return complain_of_start("run", c.program.front(), errno);
  std::error_code error;
  if (std::filesystem::is_directory(program.path, error)) return complain_of_start("run", c.program.front(), EISDIR);
  std::string obstacle = describe(program, {.name = route_library, .use = "run"});
  route_plan plan = read_plan(c.plan);
  if (obstacle.empty()) obstacle = plan_obstacle(plan, program.path, c.wrapped);
  if (!obstacle.empty()) return complain("run", obstacle, exit_not_loaded);
  if (plan.groups.empty()) {
    complain("run", c.plan + ": the plan has no groups: nothing is routed");
    ::unsetenv(route_variable);
    return start(c, require_companion(malloc_libraries.front().file));
  }
  const std::string handed_over = handover_text(plan, c.reports);
  if (c.reports) std::fputs(report_head(plan, c.plan).c_str(), stderr);
  return start(c, library, handed_over);
}

int run_program(const run_command& c) {
  const malloc_library* const malloc = find_level(c.level);
  if (malloc == nullptr) return complain_of_level(c.level);
  if (!c.plan.empty()) return run_by_plan(c);
  if (c.reports || c.wrapped)
    return complain("run", std::string(c.reports ? "--report" : "--wrapped") + " needs --plan", exit_usage);
  const std::string library = require_companion(malloc->file);
  const std::string obstacle =
      describe(inspect_program(c.program.front()), {.name = malloc->file, .use = "run", .needs_glibc = false});
  if (!obstacle.empty()) return complain("run", obstacle, exit_not_loaded);
  ::unsetenv(route_variable);
  return start(c, library);
}

/// The library reads a word at each comma, so an option without a value would be taken for a part of another.
std::string check_option(const std::string& option) {
  const std::size_t equals = option.find('=');
  if (equals != std::string::npos && equals != 0 && equals + 1 != option.size()) return {};
  return "'" + option + "' is not WORD=VALUE";
}

int run_verb(int argc, char** argv) {
  run_command c;
  CLI::App app(
      "ashlar run [--level LEVEL | --plan FILE] [--stats] [--option WORD=VALUE]... -- PROGRAM [ARGUMENT]...\n\n"
      "Runs a program with ashlar's malloc in place of the C library's, and the processes that it starts.\n"
      "The program need not be changed: the library libashlar.so is preloaded.",
      argv[0]);
  app.footer("Exit status: that of the program. 124 the library cannot be loaded into it, 126 and 127 the program\n"
             "cannot be run or found, 1 the library is missing, 2 the command line is invalid. Of a plan: 1 it cannot\n"
             "be read or followed, 124 it is for another program or another build of it or of its libraries.\n"
             "docs/malloc.md describes the options, and when to take another malloc; docs/route.md describes plans.");
  add_value(app, "--level LEVEL", c.level,
            "What is checked: fast (nothing), checked (wrong frees), hardened (also writes)")
      ->capture_default_str();
  add_value(app, "--plan FILE", c.plan, "A plan of routes: its call sites get their memory from pools and arenas");
  app.add_flag("--wrapped", c.wrapped, "PROGRAM is not the program of the plan but starts it, as a script does");
  app.add_flag("--report", c.reports,
               "Print the plan's groups and sites, and what each group has served when a process ends");
  app.add_flag("--stats", c.statistics,
               "Print a line about its memory when a process that has allocated ends; --option stats=classes for more");
  app.add_flag("--print", c.prints, "Print the line that starts PROGRAM so without ashlar, and start nothing");
  add_value(app, "--option WORD=VALUE", c.options,
            "An option of the library, such as retain=64m; several times for several")
      ->allow_extra_args(false)
      ->check(check_option);
  if (const auto status = parse_with_program(app, argc, argv, c.program)) return *status;
  return run_program(c);
}

const verb_registration run_registration({"run", "run a program with ashlar's malloc in place of its own", run_verb});

}  // namespace

}  // namespace ashlar::cli
