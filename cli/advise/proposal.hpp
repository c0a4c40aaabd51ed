// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether the remedy of a site is proposed. Fewer calls are a gain by the trace alone. A remedy that asks another
// resource for each block, in another place, gains only if that is measured.
#pragma once

#include <cstdint>
#include <string>

#include "cli/advise/advice.hpp"

namespace ashlar::cli {

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

}  // namespace ashlar::cli
