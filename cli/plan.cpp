// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The verb `plan`: buffers with lives in, an offset for each out.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/plan/csv.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/plan/validate.hpp>

#include "parse.hpp"
#include "plan_output.hpp"
#include "plan_trace.hpp"
#include "verb.hpp"

namespace {

namespace cli = ashlar::cli;
namespace plan = ashlar::plan;

struct request {
  std::string input, output, header, c, svg, html, trace, name = "planned";
  std::vector<std::uint64_t> between;
  std::optional<std::uint64_t> capacity;
  plan::effort effort = plan::effort::balanced;
  double seconds = 0;
  std::uint64_t nodes = 0, base_alignment = 1;
  bool validate = false, stats = false, quiet = false;
};

// Set by the first Ctrl-C, after which the best layout so far is returned; a second one ends the program.
std::atomic<bool> stop{false};

void on_interrupt(int) {
  stop = true;
  std::signal(SIGINT, SIG_DFL);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  std::ofstream out(path, std::ios::binary);
  if (!(out << text) || !out.flush()) throw std::runtime_error("cannot write " + path);
}

void add_options(CLI::App& app, request& r) {
  app.add_option("input", r.input,
                 "CSV: id,lower,upper,size[,alignment][,gaps][,offset], or with start,end (inclusive)");
  app.add_option("-o,--output", r.output, "CSV with an offset column; - is standard output");
  app.add_option("--capacity", r.capacity, "decide whether this many bytes suffice");
  app.add_option("--effort", r.effort, "how hard to try")
      ->transform(CLI::CheckedTransformer(std::map<std::string, plan::effort>{
          {"fast", plan::effort::fast}, {"balanced", plan::effort::balanced}, {"exact", plan::effort::exact}}));
  app.add_option("--time", r.seconds, "wall-clock budget in seconds");
  app.add_option("--nodes", r.nodes, "budget in search nodes: the same result on every machine");
  app.add_option("--base-alignment", r.base_alignment, "every offset is a multiple of this power of two");
  app.add_flag("--validate", r.validate, "check the offset column of the input instead of planning");
  app.add_option("--header", r.header, "write a constexpr C++ table");
  app.add_option("--c", r.c, "write a C table");
  app.add_option("--name", r.name, "namespace or prefix of the tables");
  app.add_option("--svg", r.svg, "write a picture");
  app.add_option("--html", r.html, "write a page with the picture");
  app.add_option("--from-trace", r.trace, "plan the allocations of a recording");
  app.add_option("--between", r.between, "only from one mark to another")->expected(2);
  app.add_flag("--stats", r.stats, "print figures");
  app.add_flag("--quiet", r.quiet, "no progress on standard error");
}

plan::csv_document load(const request& r) {
  if (r.trace.empty()) {
    plan::csv_result parsed = plan::parse_csv(read_file(r.input));
    if (!parsed.ok()) throw std::runtime_error(r.input + ": " + parsed.error->text());
    return std::move(parsed.document);
  }
  std::optional<std::pair<std::uint64_t, std::uint64_t>> between;
  if (r.between.size() == 2) between = std::pair{r.between[0], r.between[1]};
  cli::recorded_problem recorded = cli::plan_from_trace(r.trace, between);
  std::fprintf(stderr, "%s: %zu buffers, %llu live to the end of the phase, %llu frees of older objects left out\n",
               r.trace.c_str(), recorded.content.buffers.size(), static_cast<unsigned long long>(recorded.outliving),
               static_cast<unsigned long long>(recorded.foreign_frees));
  plan::csv_document d;
  d.content = std::move(recorded.content);
  return d;
}

int validate(const request& r, const plan::csv_document& d) {
  if (d.offsets.empty() && !d.content.buffers.empty())
    throw std::runtime_error(r.input + ": there is no column \"offset\"");
  plan::layout l;
  l.offsets = d.offsets;
  for (std::size_t i = 0; i < d.offsets.size(); ++i)
    if (d.offsets[i] <= ~std::uint64_t{0} - d.content.buffers[i].size)
      l.height = std::max(l.height, d.offsets[i] + d.content.buffers[i].size);
  if (r.capacity) l.height = std::min(l.height, *r.capacity);
  const auto broken = plan::validate(d.content, l);
  if (!broken) {
    std::printf("valid, height %llu\n", static_cast<unsigned long long>(l.height));
    return cli::exit_ok;
  }
  const auto id = [&](plan::position i) { return std::to_string(d.content.buffers[i].id); };
  std::string who = id(broken->first);
  if (broken->second != broken->first) who += " and " + id(broken->second);
  return cli::complain("plan", r.input + ": buffer " + who + ": " + std::string(plan::describe(broken->rule)));
}

plan::layout solve(const request& r, const plan::problem& p) {
  plan::options wanted;
  wanted.effort = r.effort;
  wanted.nodes = r.nodes;
  wanted.time = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(r.seconds));
  wanted.capacity = r.capacity;
  wanted.base_alignment = r.base_alignment;
  wanted.stop = &stop;
  const auto start = std::chrono::steady_clock::now();
  if (!r.quiet)
    wanted.on_progress = [start](const plan::progress& now) {
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (seconds > 0.5)  // short solves stay silent
        std::fprintf(stderr, "%8.1f s  height %llu  bound %llu  nodes %llu\n", seconds,
                     static_cast<unsigned long long>(now.height), static_cast<unsigned long long>(now.lower_bound),
                     static_cast<unsigned long long>(now.nodes));
    };
  std::signal(SIGINT, on_interrupt);
  plan::layout l = plan::solve(p, wanted);
  std::signal(SIGINT, SIG_DFL);
  return l;
}

void write_results(const request& r, const plan::problem& p, const plan::layout& l) {
  if (l.offsets.size() != p.buffers.size()) return;  // nothing valid exists
  if (!r.output.empty()) write_file(r.output, plan::format_csv(p, &l));
  if (!r.header.empty()) write_file(r.header, cli::plan_as_header(p, l, r.name));
  if (!r.c.empty()) write_file(r.c, cli::plan_as_c(p, l, r.name));
  if (!r.svg.empty()) write_file(r.svg, cli::plan_as_svg(p, l));
  if (!r.html.empty()) write_file(r.html, cli::plan_as_html(p, l, r.trace.empty() ? r.input : r.trace));
  if (r.stats) std::fputs(cli::plan_figures(p, l).c_str(), r.output == "-" ? stderr : stdout);
}

int run(int argc, char** argv) {
  request r;
  CLI::App app("Plans offsets for buffers whose sizes and lives are known in advance.", "ashlar plan");
  add_options(app, r);
  if (const auto status = cli::parse(app, argc, argv)) return *status;
  if (r.input.empty() == r.trace.empty())
    return cli::complain("plan", "give either a CSV file or --from-trace", cli::exit_usage);
  const plan::csv_document d = load(r);
  if (r.validate) return validate(r, d);
  const plan::layout l = solve(r, d.content);
  if (l.status == plan::status::rejected)
    return cli::complain("plan", "the problem or the base alignment is malformed");
  write_results(r, d.content, l);
  if (r.output.empty() && !r.stats)
    std::printf("%s, height %llu, lower bound %llu\n", std::string(name_of(l.status)).c_str(),
                static_cast<unsigned long long>(l.height), static_cast<unsigned long long>(l.lower_bound));
  const bool missed = l.status == plan::status::infeasible || l.status == plan::status::unknown;
  return missed ? cli::exit_failure : cli::exit_ok;
}

const cli::verb_registration registration({"plan", "place buffers with known lives in the least memory", run});

}  // namespace
