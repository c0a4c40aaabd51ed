// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a remedy saves and holds on the trace, and why it is dropped if that is no better than the program as it is.
// Rules, common remedies, page, JSON and plan ask these functions, and no others.
#pragma once

#include <cstdint>
#include <string>

#include "cli/advise/features.hpp"
#include "cli/advise/models.hpp"
#include "cli/advise/thresholds.hpp"

namespace ashlar::cli {

inline constexpr std::uint64_t most_cell_alignment = 16;

enum class remedy;
struct advice_rule;
struct program_features;
struct site_facts;

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
