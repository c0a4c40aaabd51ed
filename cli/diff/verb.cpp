// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar diff`: what a program allocates against what it did before, by call site, for people and for builds that must
// fail where it grows.

#include <list>
#include <numeric>

#include <fmt/format.h>

#include "cli/diff/diff.hpp"
#include "cli/html/page.hpp"
#include "cli/record/processes.hpp"
#include "cli/support/output.hpp"
#include "cli/support/parse.hpp"
#include "cli/support/verb.hpp"
#include "cli/tree/tree.hpp"

namespace ashlar::cli {

namespace {

constexpr int exit_grown = 3;

struct diff_options {
  std::string before, after;
  std::vector<std::string> more_before, more_after;
  std::string process = "largest";
  bool prefix = false;
  std::vector<std::string> limits;
  std::string json;
  std::string html;
};

/// Process ids are of one run.
std::string check_process_of_both(const std::string& wish) {
  if (wish.find_first_not_of("0123456789") != wish.npos) return "";
  return "'" + wish + "' is not largest, root or the name of a program";
}

void add_diff_options(CLI::App& app, diff_options& o) {
  app.add_option("OLD", o.before, "A trace written by 'ashlar record', or a directory of traces")->required();
  app.add_option("NEW", o.after, "A later one, which may be of another build")->required();
  add_value(app, "--old TRACE", o.more_before, "One more trace beside OLD: sums add up, of peaks the greatest counts")
      ->allow_extra_args(false);
  add_value(app, "--new TRACE", o.more_after, "One more beside NEW: each side has as many")->allow_extra_args(false);
  add_value(app, "--process WHICH", o.process,
            "Of the processes of each recording: largest, the one with the most events; root, the one that record "
            "started; or, in a directory, the name of a program")
      ->check(check_process_of_both)
      ->capture_default_str();
  add_value(app, "--fail-above GROWTH,...", o.limits,
            "End with 3 if a figure of the whole grows by more: allocations, bytes, peak_bytes or never_freed_bytes, "
            "by a share or a number, as in bytes=5%,allocations=1000")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(check_growth);
  app.add_flag("--damaged", o.prefix, "Compare the part of a damaged trace before the damage");
  add_value(app, "--json FILE", o.json, "Write every call site that differs to FILE; - is standard output");
  add_value(app, "--html FILE", o.html,
            "Write a page with the flame graph of the difference to FILE; - is standard output");
  app.footer("Exit status: 0 compared, 3 a figure grew above --fail-above, 1 a trace cannot be read, or with\n"
             "--fail-above is not whole, 2 the command line is invalid.\n"
             "docs/diff.md describes how sites are matched.");
}

/// Returns: a note on the process that was taken; empty if there was no choice.
std::string taken_text(const process_choice& choice) {
  if (choice.others.empty()) return "";
  return fmt::format("of {}, {} (--process)", counted(choice.others.size() + 1, "trace"), title_of(choice.taken));
}

/// A trace, with what its stacks refer to.
struct traced_stacks {
  std::string path;
  symboliser names;
  study::trace_summary sum;
  std::vector<program_stack> stacks;
};

/// Reads the traces of both sides: a function is a wrapper of the allocator on both, or on none.
class diff_reader {
public:
  explicit diff_reader(const diff_options& options) : options_(options) {}

  /// Returns: both sides, their sites still to be compared.
  [[nodiscard]] trace_diff read() {
    trace_diff diff;
    add_traces(diff.before, read_[0], options_.before, options_.more_before);
    add_traces(diff.after, read_[1], options_.after, options_.more_after);
    wrappers_.decide();
    add_stacks(diff.before, read_[0], false);
    add_stacks(diff.after, read_[1], true);
    return diff;
  }
  [[nodiscard]] const diff_calls& calls() const noexcept { return calls_; }

private:
  void add_traces(diff_side& side, std::list<traced_stacks>& read, const std::string& first,
                  const std::vector<std::string>& more) {
    add_trace(side, read, first);
    for (const std::string& trace : more) add_trace(side, read, trace);
  }

  void add_trace(diff_side& side, std::list<traced_stacks>& read, const std::string& path) {
    const process_choice choice = choose_process_of(path, options_.process);
    trace_input input(choice.taken.path, options_.prefix);
    for (const std::string& output : {options_.json, options_.html}) expect_other_file(output, input.path(), "trace");
    traced_stacks& one = read.emplace_back();
    one.path = input.path();
    one.sum = named_summary(input, one.names);
    const bool has_stacks = input.stacks().size() != 0;
    if (has_stacks) one.stacks = whole_stacks(one.sum, input.stacks(), input.modules(), one.names, wrappers_);
    side.traces.push_back(one.path);
    side.allocated += one.sum.allocated;
    side.live += one.sum.live;
    if (one.sum.peak.bytes > side.peak.bytes) side.peak = one.sum.peak;
    const std::string damage = damage_note(input.info());
    if (side.damage.empty() && !damage.empty()) side.damage = one.path + ": " + damage;
    const auto events = std::accumulate(one.sum.operations.begin(), one.sum.operations.end(), std::uint64_t{0});
    add_notes(side, one.path, {damage, taken_text(choice), no_sites_note(has_stacks, events)});
  }

  void add_stacks(diff_side& side, std::list<traced_stacks>& read, bool is_after) {
    for (traced_stacks& one : read) {
      std::set<std::string> unnamed;
      for (program_stack& stack : one.stacks) {
        stack.begin_at_program(wrappers_);
        const source_place* const place = stack.calls.empty() ? nullptr : stack.calls.front();
        add_site(side.by_place[place == nullptr ? "(no stack)" : place_title(*place)], *stack.sum);
        if (place != nullptr && is_unnamed(*place)) unnamed.insert(place->module);
      }
      std::vector<std::string> notes = one.names.notes();
      notes.push_back(unnamed_note(unnamed));
      std::erase_if(notes, [&](const std::string& note) { return !told_.insert(note).second; });
      add_notes(side, one.path, notes);
      if (!options_.html.empty()) calls_.add(one.stacks, is_after);
    }
  }

  static void add_notes(diff_side& side, const std::string& path, const std::vector<std::string>& notes) {
    for (const std::string& note : notes)
      if (!note.empty()) side.notes.push_back(fmt::format("{}: {}", path, note));
  }

  const diff_options& options_;
  wrapper_finder wrappers_;
  std::array<std::list<traced_stacks>, 2> read_;
  std::set<std::string> told_;  // about names, once for all traces
  diff_calls calls_;
};

int compare_traces(const diff_options& o) {
  diff_reader reader(o);
  trace_diff diff = reader.read();
  for (const diff_side* side : {&diff.before, &diff.after})
    if (!o.limits.empty() && !side->damage.empty()) throw std::runtime_error(side->damage);
  compare_sites(diff);
  diff.limits = growth_limits(o.limits, diff);
  if (o.json != "-" && o.html != "-") print_text(diff_text(diff));
  if (!o.json.empty()) write_json(o.json, diff_json(diff));
  if (!o.html.empty()) write_text(o.html, html_diff({{"diff", diff_json(diff)}, {"calls", reader.calls().to_json()}}));
  return std::ranges::all_of(diff.limits, &growth_limit::is_kept) ? exit_ok : exit_grown;
}

int diff_verb(int argc, char** argv) {
  CLI::App app("ashlar diff OLD NEW [OPTION]...\n\n"
               "Compares the allocations of two recorded runs, call site by call site: new, gone, more, fewer.",
               argv[0]);
  diff_options options;
  add_diff_options(app, options);
  if (const auto status = parse(app, argc, argv)) return *status;
  std::string mistake = shared_output({{"--json", options.json}, {"--html", options.html}});
  if (options.more_before.size() != options.more_after.size())
    mistake = "one side has " + counted(options.more_before.size() + 1, "trace") + ", the other " +
              std::to_string(options.more_after.size() + 1);
  return mistake.empty() ? compare_traces(options) : complain_of_use(app, mistake);
}

const verb_registration diff_registration({"diff", "compare the allocations of two recorded runs", diff_verb});

}  // namespace

}  // namespace ashlar::cli
