// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of rules, for the page and for the plan of routes. The first rule that fires proposes a remedy for a site;
// the first obstacle that stands keeps it out of the plan. Both ask the same conditions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/advise/features.hpp"
#include "cli/advise/forecast.hpp"
#include "cli/advise/names.hpp"
#include "cli/advise/observer.hpp"
#include "cli/advise/thresholds.hpp"

namespace ashlar::cli {

/// Each has a row in the table of words.cpp.
enum class remedy {
  nothing,
  inline_buffer,  ///< A buffer in the frame of the function.
  reserve,        ///< The final size at first.
  keep_object,    ///< One object for all requests.
  hand_over,      ///< A heap of the allocating thread, with an inbox.
  scratch,        ///< A stack of blocks.
  arena,          ///< Freed as a whole, in a function that is known.
  static_plan,    ///< Offsets computed in advance, for a phase between two marks.
  counted_arena,  ///< Freed chunk by chunk.
  region,         ///< Never freed.
  segregate,      ///< Pages of their own for those that live long.
  pool            ///< Equal cells.
};

/// A candidate site with its names: the input of the rules.
struct site_facts {
  const site_features& f;
  const program_features& program;
  const advice_limits& limits;
  site_request request;    ///< Of the stack with the most objects.
  std::string owner;       ///< The function that holds most of the objects from birth to death; empty: none does.
  double owner_share = 0;  ///< Of the deaths that are no growth.
  phase_features phases = {};
  bool is_joined = false;  ///< Of several sites, which may differ in their sizes.
};

/// A row of the table.
struct advice_rule {
  std::string_view name;
  remedy proposes = remedy::nothing;
  bool (*fires)(const site_facts&) = nullptr;
  std::string (*evidence)(const site_facts&) = nullptr;
  std::optional<threshold_name> held = {};  ///< The most that the remedy may hold by live, if it is known to hold more.
};

/// A rule that fires, and its remedy is refuted by its simulation.
struct refuted_rule {
  const advice_rule* rule = nullptr;
  std::string reason;  ///< The end of a sentence.
};

/// What the rules propose for a site.
struct rule_choice {
  const advice_rule* rule = nullptr;
  std::string evidence;
  forecast expected;
  std::vector<refuted_rule> refuted;  ///< That were asked before.
};

/// In the order in which they are asked; the last one fires always.
[[nodiscard]] std::span<const advice_rule> advice_rules() noexcept;

/// Expects: there is one of the name.
[[nodiscard]] const advice_rule& rule_named(std::string_view name) noexcept;

/// Returns: what an arena that is emptied after each batch holds in an average one, by the most live bytes and one
/// chunk; no batch: infinity.
[[nodiscard]] double arena_held_by_live(std::uint64_t bytes, std::uint64_t batches, std::uint64_t peak_bytes) noexcept;

/// Returns: the first rule that fires, and whose remedy no simulation refutes.
[[nodiscard]] rule_choice choose_rule(const site_facts& facts);

/// Returns: whether the calls are too few to matter.
[[nodiscard]] bool saves_few_calls(std::uint64_t calls, const program_features& program, const advice_limits& limits);

/// Returns: the rule that asks for enough calls or bytes fires: no names are needed.
[[nodiscard]] bool is_too_small(const site_features& f, const program_features& program, const advice_limits& limits);

/// Returns: most objects die in batches, or never.
[[nodiscard]] bool dies_together(const site_features& f, const advice_limits& limits);

/// Returns: the time of all calls for the site, in nanoseconds, as `pair_ns` has it: an estimate of what a change of
/// its allocations gains, without placement.
[[nodiscard]] double estimate_ns(const site_features& f, const advice_limits& limits);

/// Returns: the time of the calls that the remedy of the rule touches.
[[nodiscard]] double touched_ns(const site_features& f, const advice_rule& rule, const advice_limits& limits);

/// Returns: the objects that outlive `bytes` of other allocations, or the trace.
[[nodiscard]] std::uint64_t outlive(const site_features& f, double bytes);

/// Returns: the objects that outlive `long_among_short.life`.
[[nodiscard]] std::uint64_t long_lived(const site_features& f, const advice_limits& limits);

/// Returns: why the plan cannot route a site, as the end of a sentence; empty: it can.
[[nodiscard]] std::string plan_obstacle(const site_features& f, const advice_limits& limits);

/// Returns: whether a routed pool serves the sizes; else an arena has to.
[[nodiscard]] bool fits_routed_pool(const site_features& f, const advice_limits& limits);

/// Returns: the pages that long-lived objects keep from being given back: no more than the blocks at the program's peak
/// lay on.
[[nodiscard]] std::uint64_t pinned_pages(const site_features& f, const program_features& program);

}  // namespace ashlar::cli
