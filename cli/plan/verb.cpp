// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The verb `plan`: reads buffers with lifetimes, writes an offset for each.
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include <ashlar/plan/csv.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/plan/validate.hpp>

#include "cli/plan/output.hpp"
#include "cli/plan/request.hpp"
#include "cli/support/output.hpp"
#include "cli/support/text.hpp"
#include "cli/support/verb.hpp"

namespace {

namespace cli = ashlar::cli;
namespace plan = ashlar::plan;
using request = cli::plan_request;

// Set by the first Ctrl-C, after which the solver returns the best layout so far; a second one ends the program.
std::atomic<bool> stop{false};

void on_interrupt(int) {
  stop = true;
  std::signal(SIGINT, SIG_DFL);
}

/// Shows the progress when the planner reports, and every second in between from a separate thread: on a terminal; with
/// --progress as lines on standard error.
class progress_meter {
public:
  explicit progress_meter(const request& r) : request_(r), repeater_([this] { repeat(); }) {}
  progress_meter(const progress_meter&) = delete;
  progress_meter& operator=(const progress_meter&) = delete;
  ~progress_meter() {
    {
      const std::lock_guard held(lock_);
      stopped_ = true;
    }
    over_.notify_all();
    repeater_.join();
    cli::clear_progress();
  }

  void take(const plan::progress& now) {
    const std::lock_guard held(lock_);
    const bool better = now.height != last_.height || now.lower_bound != last_.lower_bound;
    last_ = now;
    if (better) show();
  }

private:
  /// Expects: the lock is held.
  void show() {
    const double spent = clock_.seconds();
    if (spent - shown_ < 0.1) return;  // bounds can rise a thousand times a second; the repeater shows the last of them
    shown_ = spent;
    const std::string found =
        fmt::format("height {}  bound {}  nodes {}", last_.height, last_.lower_bound, last_.nodes);
    if (request_.progress) fmt::print(stderr, "{:8.1f} s  {}\n", spent, found);
    else cli::show_progress(found, std::max(0.0, request_.seconds - spent));
  }

  void repeat() {
    std::unique_lock held(lock_);
    while (!over_.wait_for(held, std::chrono::seconds(1), [this] { return stopped_; }))
      if (last_.height != 0) show();
  }

  const request& request_;
  cli::stopwatch clock_;
  double shown_ = -1;
  std::mutex lock_;
  std::condition_variable over_;
  bool stopped_ = false;
  plan::progress last_{};
  std::thread repeater_;
};

plan::csv_document load(const request& r) {
  if (r.trace.empty()) {
    plan::csv_result parsed = plan::parse_csv(cli::read_text(r.input));
    if (!parsed.ok()) throw std::runtime_error(r.input + ": " + parsed.error->text());
    return std::move(parsed.document);
  }
  cli::recorded_problem recorded = cli::plan_from_trace(r.trace, r.bounds(), r.damaged);
  if (recorded.content.buffers.empty()) throw std::runtime_error(r.trace + ": nothing is allocated in the phase");
  fmt::print(stderr, "{}: {}, {} live to the end of the phase, {} left out\n", r.trace,
             cli::counted(recorded.content.buffers.size(), "buffer"), cli::grouped(recorded.outliving),
             cli::counted(recorded.foreign_frees, "free of an older object", "frees of older objects"));
  if (recorded.threads > 1)
    fmt::print(stderr, "{}: {} in the phase: its order may change from run to run\n", r.trace,
               cli::counted(recorded.threads, "thread allocates", "threads allocate"));
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
    fmt::print("valid, height {}\n", l.height);
    return cli::exit_ok;
  }
  const auto id = [&](plan::position i) { return cli::name_of(d.content, d.names, i); };
  std::string who = "buffer " + id(broken->first);
  if (broken->second != broken->first) who = "buffers " + id(broken->first) + " and " + id(broken->second);
  return cli::complain("plan", r.input + ": " + who + ": " + std::string(plan::describe(broken->rule)));
}

plan::layout solve(const request& r, const plan::problem& p) {
  plan::options wanted;
  wanted.effort = r.effort;
  wanted.nodes = r.nodes;
  wanted.time = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(r.seconds));
  wanted.capacity = r.capacity;
  wanted.base_alignment = r.base_alignment;
  wanted.stop = &stop;
  std::optional<progress_meter> meter;
  if (!r.quiet) {
    meter.emplace(r);
    wanted.on_progress = [&meter](const plan::progress& now) { meter->take(now); };
  }
  std::signal(SIGINT, on_interrupt);
  plan::layout l = plan::solve(p, wanted);
  std::signal(SIGINT, SIG_DFL);
  if (stop) fmt::print(stderr, "ashlar plan: interrupted; this is the best plan so far\n");
  return l;
}

void write_results(const request& r, const plan::csv_document& d, const plan::layout& l) {
  const plan::problem& p = d.content;
  if (l.offsets.size() != p.buffers.size()) return;  // there is no valid layout
  if (!r.output.empty()) cli::write_text(r.output, plan::format_csv(p, &l, d.names));
  if (!r.header.empty()) cli::write_text(r.header, cli::plan_as_header(p, l, d.names, r.name, !r.trace.empty()));
  if (!r.c.empty()) cli::write_text(r.c, cli::plan_as_c(p, l, d.names, r.name));
  if (!r.svg.empty()) cli::write_text(r.svg, cli::plan_as_svg(p, l, d.names));
  if (!r.html.empty()) cli::write_text(r.html, cli::plan_as_html(p, l, d.names, r.trace.empty() ? r.input : r.trace));
}

/// Prints the figures of the plan; on standard error if standard output carries the CSV.
void print(const request& r, const plan::problem& p, const plan::layout& l) {
  FILE* const to = r.output == "-" ? stderr : stdout;
  if (r.stats) cli::print_text(cli::plan_figures(p, l), to);
  else if (r.output.empty() || !r.trace.empty())
    fmt::print(to, "{}, height {}, lower bound {}\n", name_of(l.status), l.height, l.lower_bound);
  if (!r.trace.empty()) cli::print_text(cli::compare_with_heaps(l, cli::measure_heaps(p)), to);
}

void check_outputs(const request& r) {
  for (const cli::output_file& output : r.outputs())
    cli::expect_outputs({output.path}, {{r.input, "input"}, {r.trace, "trace"}});
}

int plan_verb(int argc, char** argv) {
  request r;
  if (const auto status = cli::parse_plan(argc, argv, r)) return *status;
  check_outputs(r);
  const plan::csv_document d = load(r);
  if (r.validate) return validate(r, d);
  if (!(r.header.empty() && r.c.empty())) cli::check_identifiers(d.names);
  const plan::layout l = solve(r, d.content);
  if (l.status == plan::status::rejected)
    return cli::complain("plan", "the base alignment is not a power of two, or too large", cli::exit_usage);
  write_results(r, d, l);
  print(r, d.content, l);
  const bool missed = l.status == plan::status::infeasible || l.status == plan::status::unknown;
  return missed ? cli::exit_failure : cli::exit_ok;
}

const cli::verb_registration plan_registration({"plan", "place buffers with known lifetimes in the least memory",
                                                plan_verb});

}  // namespace
