// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Advice on a program, as text, JSON and page: its call sites with their verdicts, and the remedies that need no change
// of code.
#pragma once

#include "cli/advise/call_tree.hpp"
#include "cli/advise/features.hpp"
#include "cli/advise/history.hpp"
#include "cli/advise/observer.hpp"
#include "cli/advise/sites.hpp"
#include "cli/advise/thresholds.hpp"
#include "cli/report/own_allocator.hpp"
#include "cli/routes/plan.hpp"

namespace ashlar::cli {

/// Call sites that share a pool or an arena.
struct site_group {
  std::uint64_t cell_bytes = 0;  ///< Of a pool; 0: an arena.
  bool dies_together = false;    ///< Its objects die in batches, or never.
  std::vector<std::uint32_t> nodes;
  std::uint64_t objects = 0;       ///< Allocations.
  std::uint64_t long_objects = 0;  ///< Of them those that outlive `plan.life` bytes of allocations.
  std::uint64_t peak_bytes = 0;    ///< Most live bytes of each site, added up.
  std::uint64_t excess_bytes = 0;  ///< Most bytes held beyond the live ones, by simulation.
  std::uint64_t left_bytes = 0;    ///< Live after the last birth of each trace.
  /// The chunks that these keep, by simulation of each site: at most all, or a pool's peak.
  std::uint64_t left_held_bytes = 0;
};

inline constexpr std::uint32_t most_routed_depth = 4;  ///< Frames of a chain: each costs each call.

/// A site that a group could serve, and that has none.
struct ungrouped_site {
  std::uint32_t node = 0;
  std::string obstacle;  ///< The end of a sentence.
};

struct site_groups {
  std::vector<site_group> groups;  ///< The one with the most live bytes first.
  std::vector<ungrouped_site> ungrouped;
};

/// Returns: the groups, and the sites without one though `plan_obstacle` has none, unless their chains are longer than
/// `most_routed_depth`. A site is one return address, or a longer chain where the callers' objects have other
/// lifetimes; its objects are long-lived. Sites with cells of one size that live alike share a pool; sites of several
/// sizes that die in batches share an arena. No site shares with one that it outlives, or whose chunks few of its
/// objects would keep.
[[nodiscard]] site_groups group_sites(const call_tree& tree, const site_observer& seen, const advice_limits& limits);

/// What the remedies gave on the program, or on its trace.
struct advice_measurement {
  std::string text;     ///< Its first line is the verdict; empty: nothing was measured.
  nlohmann::json data;  ///< Null: nothing was measured.
};

/// A site whose objects are worth memory of their own, and that no plan can have.
struct left_out_site {
  std::uint32_t node = 0;
  std::string text;      ///< A sentence.
  std::string obstacle;  ///< Its reason.
};

struct advice {
  std::string program;              ///< The recorded command line.
  std::vector<std::string> traces;  ///< Their files.
  std::vector<std::string> warnings;
  std::string choice;                ///< About the process among those of the recording; empty: there was none.
  nlohmann::json processes = {};     ///< All of them; null: one, or several files were given.
  std::uint64_t resident_peak = 0;   ///< Of one trace, at most; 0: unknown.
  std::optional<own_allocator> own;  ///< What was seen is too small a part of the program to advise on.
  program_features features;
  advice_limits limits;
  std::vector<advised_site> sites;  ///< Those with a remedy first.
  advice_measurement measurement = {};
  route_plan plan = {};                       ///< All of it, before groups without a gain leave it.
  std::vector<site_trial> plan_trials = {};   ///< Of its groups; empty: nothing was measured.
  std::vector<std::size_t> left_groups = {};  ///< The numbers of those that leave it.
  std::vector<left_out_site> left_out = {};
  std::vector<ungrouped_site> ungrouped = {};
  std::string not_measured;  ///< Why the recorded command was not run unasked; empty: it was, or was not to be.
  std::string order;    ///< Of the sites with a remedy, in sentences; empty: by the estimate, as nothing was measured.
  std::string no_plan;  ///< Why no site is routed; empty: some are.

  /// Returns: whether the measurement leaves a group in the plan.
  [[nodiscard]] bool keeps_group(std::size_t number) const {
    return std::find(left_groups.begin(), left_groups.end(), number) == left_groups.end();
  }
};

/// Returns: a page of text, with at most `top` sites that have a remedy.
[[nodiscard]] std::string advice_text(const advice& a, const call_tree& tree, std::size_t top);

/// Returns: everything: each site with all features, its verdict and its gain.
[[nodiscard]] nlohmann::json advice_json(const advice& a, const call_tree& tree, site_names& names);

using frame_follower = std::function<bool(const std::string& path, std::uint64_t offset)>;

/// Returns: the routes of the groups of `group_sites`, as far as their frames lie in modules with a build id, and a
/// router can follow all but the last. `follows`: whether it can go on from the return address `offset` of the file
/// `path`. Effects: adds to `a.left_out` each site that has no route for one of these reasons, and to `a.ungrouped`
/// those without a group.
[[nodiscard]] route_plan advice_plan(advice& a, const call_tree& tree, const site_observer& seen, site_names& names,
                                     const frame_follower& follows);

/// Returns: the return addresses that identify each node of the site.
[[nodiscard]] std::vector<std::vector<route_frame>> chains_of(const advised_site& s, const call_tree& tree);

/// Returns: the record of a site, which the page reads too; the features in it; the groups of the plan.
[[nodiscard]] nlohmann::json site_json(const advised_site& s, const advice& a, const call_tree& tree,
                                       site_names& names);
[[nodiscard]] nlohmann::json plan_json(const advice& a);
[[nodiscard]] nlohmann::json features_json(const site_features& f);

/// Returns: what another malloc may gain, or a policy of pages, as a sentence.
[[nodiscard]] std::string malloc_remedy(const advice& a);
[[nodiscard]] std::string page_remedy(const advice& a);

/// Returns: the site's share of the program and its sizes, as a sentence.
[[nodiscard]] std::string amounts_text(const advised_site& s, const advice& a);

/// What no estimate holds; told once, where the first one stands.
inline constexpr const char* estimate_note = "An ESTIMATE is the time of the calls alone: what better places in memory "
                                             "spare the program is not in it, and may be "
                                             "more.";

/// Returns: the remedy as an instruction.
[[nodiscard]] std::string remedy_text(const advised_site& s, const advice_limits& limits);

/// Returns: the gain by its levels: the estimate, and what the simulation of the remedy gave.
[[nodiscard]] std::string gain_text(const advised_site& s, const advice& a);

/// The allocations of all traces.
struct stack_counts {
  std::vector<std::string> unasked = {};  ///< Traces that were recorded without stacks.
  bool is_table_full = false;             ///< A trace has as many stacks as a recorder keeps.
  std::uint64_t without = 0;              ///< Allocations without a stack.
  std::uint64_t allocations = 0;
};

/// Returns: how many allocations have no call stack, why, and what follows; empty if these are less than one in a
/// hundred: the start of a thread may have none.
[[nodiscard]] std::string missing_stacks(const stack_counts& counts);

/// Whether the remedy of a site is proposed. Fewer calls are a gain by the trace alone. A remedy that asks another
/// resource for each block, in another place, gains only if that is measured.
enum class standing : std::uint8_t {
  nothing,       ///< No remedy.
  proposed,      ///< Fewer calls, or measured to gain.
  not_measured,  ///< A remedy of placement whose effect is unknown or undecided.
  no_gain        ///< A remedy of placement that was measured to be level, or a loss.
};

[[nodiscard]] standing standing_of(const advised_site& s) noexcept;

/// Returns: whether nothing is to be changed there: without a remedy, or with one that was measured as no gain.
[[nodiscard]] inline bool is_unchanged(const advised_site& s) noexcept {
  return standing_of(s) == standing::nothing || standing_of(s) == standing::no_gain;
}

/// Returns: "proposed", "not measured" …
[[nodiscard]] const char* standing_word(standing of) noexcept;

/// Returns: the remedy as an instruction, or what is known of it and how it is measured.
[[nodiscard]] std::string proposal_text(const advised_site& s, const advice& a);

/// Returns: "3 of 12 have a remedy to try, 2 of them not measured; no gain was measured at 1 more".
[[nodiscard]] std::string proposals_text(const advice& a, const std::string& noun);

/// The history of all traces of a page.
struct page_history {
  explicit page_history(std::size_t stacks) : live(stacks) {}

  live_history live;
  lane_history lanes;
  bool cut_short = false;  ///< A trace ends before its program.
};

/// Effects: the page has the groups of the plan, with their measured effects.
void add_plan(nlohmann::json& page, const advice& a);

/// Returns: the page, for `html_advice`. Expects: `history.live` is finished.
[[nodiscard]] nlohmann::json make_advice_page(const advice& a, const call_tree& tree, site_names& names,
                                              const page_history& history);

/// Returns: the program as it is, then a bar for each remedy that was measured in two rounds or more, in the colour of
/// a gain if that was found. Expects: the JSON of a measurement.
[[nodiscard]] nlohmann::json measured_bars(const nlohmann::json& measurement);

inline constexpr std::size_t most_graph_frames = 2000;
inline constexpr std::size_t most_graph_changes = 12'000;

/// Returns: the tree, for the page: of each call its caller, its name and its amounts, and of each bin of the timeline
/// the calls whose live bytes change, and by how much. All calls of one function by the same callers are one. The calls
/// that are least in every measure are counted as one unnamed call of their caller, so that sums stay exact; so are
/// those with the least live bytes, until the changes over time are no more than `most_graph_changes`. Complexity:
/// O(frames of all stacks + changes * depth), and all names.
[[nodiscard]] nlohmann::json call_graph(const call_tree& tree, const live_history& history, site_names& names);

}  // namespace ashlar::cli
