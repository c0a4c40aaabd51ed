// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What was asked of the verb `plan`.
#include "plan_request.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "parse.hpp"
#include "verb.hpp"

namespace ashlar::cli {

namespace {

void add_work(CLI::App& app, plan_request& r) {
  app.add_option("--capacity", r.capacity, "decide whether this many bytes suffice");
  app.add_option("--effort", r.effort, "how hard to try")
      ->transform(CLI::CheckedTransformer(std::map<std::string, plan::effort>{
          {"fast", plan::effort::fast}, {"balanced", plan::effort::balanced}, {"exact", plan::effort::exact}}));
  app.add_option("--time", r.seconds, "wall-clock budget in seconds")->check(CLI::Range(0.0, 1e6));
  app.add_option("--nodes", r.nodes, "budget in search nodes: the same result on every machine");
  app.add_option("--base-alignment", r.base_alignment, "every offset is a multiple of this power of two");
  app.add_flag("--progress", r.progress, "tell the best height and the bound from the start, not after half a second");
  app.add_flag("--quiet", r.quiet, "no progress on standard error");
}

void add_results(CLI::App& app, plan_request& r) {
  app.add_option("-o,--output", r.output, "CSV with an offset column; - is standard output");
  app.add_flag("--validate", r.validate, "check the offset column of the input instead of planning");
  app.add_option("--header", r.header, "write a constexpr C++ table");
  app.add_option("--c", r.c, "write a C table");
  app.add_option("--name", r.name, "namespace or prefix of the tables");
  app.add_option("--svg", r.svg, "write a picture");
  app.add_option("--html", r.html, "write a page with the picture");
  app.add_flag("--stats", r.stats, "print figures");
}

bool is_identifier(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || digit(c); });
}

/// Returns: what makes no sense together; empty if all is well.
std::string contradiction(const plan_request& r) {
  if (r.input.empty() == r.trace.empty()) return "give either a CSV file or --from-trace";
  if (r.trace.empty() && !(r.between.empty() && r.window.empty())) return "--between and --window need --from-trace";
  if (!r.between.empty() && !r.window.empty()) return "give either --between or --window";
  if (!r.window.empty() && !(r.window[0] >= 0 && r.window[0] < r.window[1] && r.window[1] < 1e9))
    return "--window wants two times in seconds, the earlier first";
  if (r.validate && !r.trace.empty()) return "--validate wants a CSV file";
  if (!is_identifier(r.name)) return "--name wants an identifier";
  return {};
}

}  // namespace

phase_bounds plan_request::bounds() const {
  const auto ns = [](double s) { return static_cast<std::uint64_t>(std::llround(s * 1e9)); };
  phase_bounds b;
  if (between.size() == 2) b.marks = std::pair{between[0], between[1]};
  if (window.size() == 2) b.window = std::pair{ns(window[0]), ns(window[1])};
  return b;
}

std::optional<int> parse_plan(int argc, char** argv, plan_request& r) {
  CLI::App app("Plans offsets for buffers whose sizes and lives are known in advance.", "ashlar plan");
  app.add_option("input", r.input,
                 "CSV: id,lower,upper,size[,alignment][,gaps][,offset], or with start,end (inclusive)");
  app.add_option("--from-trace", r.trace, "plan the allocations of a recording");
  app.add_option("--between", r.between, "only from one mark to another")->expected(2);
  app.add_option("--window", r.window, "only from one time to another, in seconds since the start")->expected(2);
  add_work(app, r);
  add_results(app, r);
  if (const auto status = parse(app, argc, argv)) return status;
  const std::string wrong = contradiction(r);
  if (!wrong.empty()) return complain("plan", wrong, exit_usage);
  return std::nullopt;
}

}  // namespace ashlar::cli
