// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One meaning for each of the four words.
#include "cli/rounds/verdict.hpp"

#include <cmath>

#include <fmt/format.h>

#include "cli/rounds/text.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

finding verdict_of(const mean_interval& log_ratio, double bound) noexcept {
  const double most = std::log1p(bound);
  if (log_ratio.least > -most && log_ratio.greatest < most) return finding::level;
  if (log_ratio.greatest < 0) return finding::gain;
  return log_ratio.least > 0 ? finding::loss : finding::undecided;
}

finding verdict_of(const paired_effect& effect, double bound) {
  if (!effect.could_tell()) return finding::undecided;
  const finding found = verdict_of(effect.log_ratio, bound);
  const bool is_by_order = effect.chance > effect.error / 2;
  return is_by_order && found != finding::level ? finding::undecided : found;
}

const char* verdict_word(finding verdict) noexcept {
  constexpr detail::enum_table<finding, const char*> words = {"undecided", "level", "gain", "loss"};
  return words[verdict];
}

finding verdict_named(std::string_view word) noexcept {
  for (const finding f : {finding::level, finding::gain, finding::loss})
    if (word == verdict_word(f)) return f;
  return finding::undecided;
}

std::string verdict_text(finding verdict, const mean_interval& log_ratio, double detectable) {
  return fmt::format("{}: {}{}", verdict_word(verdict), change_text(log_ratio),
                     verdict == finding::undecided ? "; " + seen_text(detectable) : "");
}

std::string verdict_text(const comparison& c) {
  if (c.effect.pairs < 2) return "not measured: too few rounds";
  if (c.effect.could_tell()) return verdict_text(c.found, c.effect.log_ratio, c.effect.detectable());
  return fmt::format("undecided: {} on average of {}, too few for an interval", change_text(c.effect.log_ratio.mean),
                     counted(c.effect.pairs, "round"));
}

}  // namespace ashlar::cli
