// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The names of call sites, and the tables of rules, for the page and for the plan of routes. The first rule that fires
// proposes a remedy for a site; the first obstacle that stands keeps it out of the plan. Both ask the same conditions.
#pragma once

#include "cli/advise/call_tree.hpp"
#include "cli/advise/features.hpp"
#include "cli/advise/models.hpp"
#include "cli/advise/observer.hpp"
#include "cli/advise/thresholds.hpp"
#include "cli/support/symbolise.hpp"
#include "cli/support/wrappers.hpp"

namespace ashlar::cli {

enum class container_kind { none, node, vector, string, deque, shared, function };

/// The request of a stack, as its program spells it.
struct site_request {
  source_place place;     ///< The innermost call that is no library's and no wrapper's; empty: all are the library's.
  std::string enclosing;  ///< The function of the symbol table around that place.
  container_kind kind = container_kind::none;
  std::string container;    ///< "std::map<…>"; empty if none was recognised.
  std::string through;      ///< The wrapper or C library function that it calls; empty: none.
  std::uint32_t depth = 0;  ///< Frames up to its own; 0: unknown.
  bool is_behind = false;   ///< It lies behind the suffix, which has wrappers and library functions alone.
  std::string element;      ///< The type of the requested objects, with template arguments; empty if unknown.
};

/// Looks names up once. Thread safety: one thread at a time.
class site_names {
public:
  /// `tree` outlives this.
  explicit site_names(const call_tree& tree) : tree_(tree) {}

  /// Effects: finds the program's wrappers of the allocator by its stacks. Before, there are none.
  void find_wrappers(const site_observer& seen);

  [[nodiscard]] const site_request& request(std::uint32_t stack);
  /// Returns: the request of a suffix of the stack. If it lies behind, it is the suffix's wrapper, if it has one.
  [[nodiscard]] site_request request(std::uint32_t stack, std::uint32_t depth);
  /// Returns: the function of the symbol table around a frame of the tree.
  [[nodiscard]] std::string function_of(std::uint64_t frame);
  /// Returns: the places of a frame, innermost first.
  [[nodiscard]] const std::vector<source_place>& places(std::uint64_t frame);
  /// Returns: as `source_place::code`, which reads it once.
  [[nodiscard]] const std::string& code(const source_place& place);
  /// Returns: as `symboliser::notes`.
  [[nodiscard]] std::vector<std::string> notes() const { return names_.notes(); }

private:
  [[nodiscard]] std::vector<const source_place*> calls_of(std::uint32_t stack, std::size_t most);

  const call_tree& tree_;
  symboliser names_;
  wrapper_finder wrappers_;
  std::map<std::uint32_t, site_request> requests_;
  std::map<std::pair<const std::string*, int>, std::string> code_;  // by source and line
};

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

inline constexpr std::uint64_t most_cell_alignment = 16;

/// Returns: 0 of nothing.
[[nodiscard]] inline double share(std::uint64_t part, std::uint64_t whole) noexcept {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Of the objects of one site, or of all that have one remedy together.
struct forecast {
  std::uint64_t objects = 0;      ///< Of the trace.
  std::uint64_t served = 0;       ///< Of these, by the remedy.
  std::uint64_t calls = 0;        ///< Of malloc, with their frees, that are saved; or frees of another thread's blocks.
  std::uint64_t alive = 0;        ///< The most objects at once.
  std::uint64_t live_bytes = 0;   ///< Without the remedy: the most at once, or at the program's peak.
  std::uint64_t held_bytes = 0;   ///< With it, then.
  std::uint64_t spare_bytes = 0;  ///< Of the last chunk or slab, which is no loss.
  pool_model pool = {};           ///< Without slabs: the remedy is none.

  [[nodiscard]] double held_by_live() const noexcept {
    const auto live = static_cast<double>(live_bytes + spare_bytes);
    return live == 0 ? 1 : static_cast<double>(held_bytes) / live;
  }
  /// Returns: the bytes that the remedy adds.
  [[nodiscard]] std::uint64_t added_bytes() const noexcept {
    return held_bytes - (held_bytes < live_bytes ? held_bytes : live_bytes);
  }
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

/// Returns: the first rule that fires, and whose remedy no simulation refutes.
[[nodiscard]] rule_choice choose_rule(const site_facts& facts);

/// Returns: whether the calls are too few to matter.
[[nodiscard]] bool saves_few_calls(std::uint64_t calls, const program_features& program, const advice_limits& limits);

/// Returns: the rule that asks for enough calls or bytes fires: no names are needed.
[[nodiscard]] bool is_too_small(const site_features& f, const program_features& program, const advice_limits& limits);

/// Returns: most objects die in batches, or never.
[[nodiscard]] bool dies_together(const site_features& f, const advice_limits& limits);

/// Returns: the time of the calls that the remedy of the rule touches, in nanoseconds, as `pair_ns` has it: an estimate
/// of what a change of the site's allocations gains, without placement.
[[nodiscard]] double touched_ns(const site_features& f, const advice_rule& rule, const advice_limits& limits);

/// Returns: the objects that outlive `bytes` of other allocations, or the trace.
[[nodiscard]] std::uint64_t outlive(const site_features& f, double bytes);

/// Returns: the objects that outlive `long_among_short.life`.
[[nodiscard]] std::uint64_t long_lived(const site_features& f, const advice_limits& limits);

/// Returns: why the plan cannot route a site, as the end of a sentence; empty: it can.
[[nodiscard]] std::string plan_obstacle(const site_features& f, const advice_limits& limits);

/// Returns: whether a routed pool serves the sizes; else an arena has to.
[[nodiscard]] bool fits_routed_pool(const site_features& f, const advice_limits& limits);

/// Returns: the pages that long-lived objects keep, no more than those of the blocks at the program's peak.
[[nodiscard]] std::uint64_t pinned_pages(const site_features& f, const program_features& program);

// What a remedy saves and holds on the trace, and why it is dropped if that is no better than the program as it is.
// Rules, common remedies, page, JSON and plan ask these functions, and no others.

[[nodiscard]] forecast forecast_of(remedy proposed, const site_facts& s);

/// Returns: why the remedy of the rule is dropped, as the end of a sentence; empty: it stands. The second function asks
/// for objects of several sites, whose forecast is known.
[[nodiscard]] std::string refutation(const advice_rule& rule, const site_facts& s);
[[nodiscard]] std::string refutation(const advice_rule& rule, const site_facts& s, const forecast& expected);

/// Returns: why no pool is for the objects, as the end of a sentence; empty: one is.
[[nodiscard]] std::string pool_obstacle(const site_facts& s);

/// Returns: whether a pool holds little enough: what the page's and the plan's pools have in common.
[[nodiscard]] bool pool_holds_little(const site_features& f, const advice_limits& limits);

/// Returns: the bytes to reserve: the ninth tenth of the final sizes.
[[nodiscard]] std::uint64_t reserved_bytes(const growth_features& growth);

/// Returns: whether the code of the request can take cells of a pool: it asks for one object of one type.
[[nodiscard]] bool takes_cells(const site_facts& s);

/// Returns: whether at most two blocks are alive at once: memory of their own would hold nothing else.
[[nodiscard]] bool are_few(const site_features& f) noexcept;
/// Returns: "at most 1 is alive". Expects: they are few.
[[nodiscard]] std::string few_text(const site_features& f);

}  // namespace ashlar::cli
