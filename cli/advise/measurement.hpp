// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Advice that is measured: remedies replayed on the trace, or run under the program.
#pragma once

#include "cli/advise/advice.hpp"
#include "cli/remedies/experiment.hpp"
#include "cli/report/trace.hpp"

namespace ashlar::cli {

enum class measure_level {
  none,
  replay,
  run,
  usual  ///< `run` within `usual_seconds` where the trace shows that this is safe, else `none`.
};

struct measure_options {
  measure_level level = measure_level::usual;
  remedy_request request = {};  ///< Without a command: of the recorded one.
};

/// Exit status: measured, and no group of sites gains, so that the plan of -o is empty.
inline constexpr int exit_no_plan = 3;

/// Effects: a site that a plan could have tells in its evidence its group, or why it has none.
void tell_routes(advice& a, const call_tree& tree);

/// Effects: each group of `a.plan` gets its effect over an empty plan, or the effect of the whole plan if no group was
/// measured for itself; each site the effect of its group. Sites with a remedy are sorted by it, as `a.order`
/// describes. `data`: of `remedy_json`. `plan_failure`: why no group is left of a plan; empty: it does not fail.
void add_trials(advice& a, const call_tree& tree, const nlohmann::json& data, const std::string& plan_failure);

/// Effects: puts the answer of `remedy_json` and the members "text", "kept", "no_plan", "plan_failure" and "unfit" into
/// the advice, and, if "of_sites": sites get their trials, the greatest gain first (`add_trials`), `plan` the groups
/// that are kept, with the effects as evidence. Of an unfit machine neither order nor evidence is taken.
void take_answer(const nlohmann::json& answer, advice& a, const call_tree& tree, route_plan& plan);

/// The word by which the command is started for a measurement alone.
inline constexpr const char* measure_apart_flag = "--in-this-process";
/// Effects: becomes the reaper of what its programs leave behind, and measures, as standard input asks. Returns: the
/// exit status. It is a process of its own, which is small: the kernel counts the memory of a process that starts a
/// program into the program's peak.
[[nodiscard]] int measure_in_this_process();

/// Measures in a process of its own.
class advice_measurer {
public:
  explicit advice_measurer(const measure_options& options) : options_(options) {}

  /// Effects: takes the command of the traces if the options have none, and tells on standard error that it is run
  /// unasked. Throws: `usage_error` if the traces have several or none, or do not name its build; `std::runtime_error`
  /// if nothing can be preloaded into the program, or its file is missing or holds another build than the recorded one.
  /// Of the usual level nothing is thrown for that: nothing is measured, and the advice gets the reason.
  void take_program(const std::vector<std::unique_ptr<trace_input>>& inputs);

  /// Effects: runs the program or replays the trace; the sites get the effect of their group, the greatest gain first;
  /// `plan` keeps the groups that gain, with the effects in their evidence, or `a.no_plan` tells why none is left.
  /// Returns: the exit status. Throws: `std::runtime_error` for a plan that is not for the program, and as
  /// `measure_remedies`.
  [[nodiscard]] int measure(advice& a, const call_tree& tree, route_plan& plan, const std::string& plan_path,
                            bool accept_prefix);

  /// Returns: whether the program was run.
  [[nodiscard]] bool has_run() const noexcept { return options_.level == measure_level::run; }

private:
  void take_command(const std::vector<std::unique_ptr<trace_input>>& inputs);
  void take_repeatable(const std::vector<std::unique_ptr<trace_input>>& inputs);
  void leave_out(const std::string& reason);
  [[nodiscard]] int run(advice& a, const call_tree& tree, route_plan& plan, const std::string& plan_path);

  measure_options options_;
  bool is_recorded_ = false;  // the command: its time is the trace's
  bool is_usual_ = false;
  std::string not_measured_;        // why not
  std::string file_;                // the program's
  std::vector<std::string> notes_;  // for the page
};

}  // namespace ashlar::cli
