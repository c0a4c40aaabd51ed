// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line of the verb `plan`.
#include "cli/plan/request.hpp"

#include <cmath>

#include "cli/plan/output.hpp"
#include "cli/support/parse.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

const std::map<std::string, plan::effort> efforts{
    {"fast", plan::effort::fast}, {"balanced", plan::effort::balanced}, {"exact", plan::effort::exact}};

void add_work(CLI::App& app, plan_request& r) {
  add_value(app, "--capacity BYTES", r.capacity, "Decide whether this many bytes suffice");
  app.add_option_function<std::string>(
         "--effort", [&r](const std::string& name) { r.effort = efforts.at(name); },
         "How hard to try: fast, balanced or exact (default: balanced)")
      ->check([](const std::string& name) {
        return efforts.contains(name) ? std::string() : "'" + name + "' is not fast, balanced or exact";
      })
      ->type_name("NAME");
  add_value(app, "--time SECONDS", r.seconds, "Wall-clock budget in seconds; 0 is none")->check(CLI::Range(0.0, 1e6));
  add_value(app, "--nodes N", r.nodes, "Budget in search nodes: the same result on every machine");
  add_value(app, "--base-alignment BYTES", r.base_alignment, "Every offset is a multiple of this power of two");
  app.add_flag("--progress", r.progress,
               "Lines with the best height and the bound on standard error, also where it is no terminal");
  app.add_flag("-q,--quiet", r.quiet, "No progress on standard error");
}

void add_results(CLI::App& app, plan_request& r) {
  add_value(app, "-o,--output FILE", r.output, "CSV with an offset column; - is standard output");
  app.add_flag("--validate", r.validate, "Check the offset column of the input instead of planning");
  add_value(app, "--header FILE", r.header, "Write a constexpr C++ table to FILE");
  add_value(app, "--c FILE", r.c, "Write a C table to FILE");
  add_value(app, "--name NAME", r.name, "Namespace or prefix of the tables")->capture_default_str();
  add_value(app, "--svg FILE", r.svg, "Write a picture to FILE");
  add_value(app, "--html FILE", r.html, "Write a page with the picture to FILE");
  app.add_flag("--stats", r.stats, "Print figures");
  app.footer("Exit status: 0 planned or valid, 1 no plan, not valid, or the input cannot be read,\n"
             "2 the command line is invalid.");
}

bool is_identifier(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || digit(c); });
}

/// Returns: the contradiction between options; empty if there is none.
std::string contradiction(const plan_request& r) {
  if (r.input.empty() == r.trace.empty()) return "give either a CSV file or --from-trace";
  if (r.trace.empty() && !(r.between.empty() && r.window.empty())) return "--between and --window need --from-trace";
  if (!r.between.empty() && !r.window.empty()) return "give either --between or --window";
  if (!r.window.empty() && !(r.window[0] >= 0 && r.window[0] < r.window[1] && r.window[1] < 1e9))
    return "--window takes two times in seconds, the earlier first";
  if (std::isnan(r.seconds)) return "--time takes a number of seconds";
  if (r.validate && !r.trace.empty()) return "--validate needs a CSV file";
  if (!is_identifier(r.name)) return "--name takes an identifier";
  if (is_taken_word(r.name)) return "--name: " + r.name + " is a keyword or a macro of some compiler";
  return shared_output(r.outputs());
}

}  // namespace

std::vector<output_file> plan_request::outputs() const {
  return {{"--output", output}, {"--header", header}, {"--c", c}, {"--svg", svg}, {"--html", html}};
}

phase_bounds plan_request::bounds() const {
  const auto ns = [](double s) { return static_cast<std::uint64_t>(std::llround(s * 1e9)); };
  phase_bounds b;
  if (between.size() == 2) b.marks = std::pair{between[0], between[1]};
  if (window.size() == 2) b.window = std::pair{ns(window[0]), ns(window[1])};
  return b;
}

std::optional<int> parse_plan(int argc, char** argv, plan_request& r) {
  CLI::App app("ashlar plan (INPUT | --from-trace TRACE) [OPTION]...\n\n"
               "Plans offsets for buffers with sizes and lifetimes known in advance.",
               "ashlar plan");
  app.add_option("INPUT", r.input,
                 "CSV: id,lower,upper,size[,alignment][,gaps][,offset], or with start,end (inclusive)");
  add_value(app, "--from-trace TRACE", r.trace, "Plan the allocations of a recording");
  add_value(app, "--between MARK MARK", r.between, "Only from one mark to another")->expected(2);
  add_value(app, "--window SECONDS SECONDS", r.window, "Only from one time to another, in seconds since the start")
      ->expected(2);
  app.add_flag("--damaged", r.damaged, "Plan the part of a damaged trace before the damage");
  add_work(app, r);
  add_results(app, r);
  if (const auto status = parse(app, argc, argv)) return status;
  const std::string wrong = contradiction(r);
  if (!wrong.empty()) return complain("plan", wrong, exit_usage);
  return std::nullopt;
}

}  // namespace ashlar::cli
