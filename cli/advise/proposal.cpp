// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A router measures what a plan has; the rest is a change of code, whose builds `ashlar verify` compares.
#include "cli/advise/proposal.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ashlar/base/event.hpp>

#include "cli/advise/words.hpp"

namespace ashlar::cli {

namespace {

constexpr detail::enum_table<standing, const char*> words = {"nothing", "proposed", "not measured", "no gain"};

std::string how_to_measure(const advised_site& s, const advice& a) {
  if (s.trial.found) return "undecided: a larger --budget may decide";
  const nlohmann::json& data = a.measurement.data;
  if (s.has_route && (data.is_null() || !data.contains("whole_plan") || data["whole_plan"].is_null()))
    return "not measured: measure it by 'ashlar advise " + a.traces.front() + " --measure run'";
  if (s.has_route && data.value("groups_budget_seconds", nlohmann::json()).is_number())
    return "not measured: a larger --budget measures it";
  if (s.has_route) return "not measured: nothing is known of its route";
  return "not measured: change it, and measure by 'ashlar verify --a OLD --b NEW'";
}

std::size_t count(const advice& a, standing wanted) {
  return static_cast<std::size_t>(
      std::ranges::count_if(a.sites, [wanted](const advised_site& s) { return standing_of(s) == wanted; }));
}

}  // namespace

standing standing_of(const advised_site& s) noexcept {
  if (s.rule->proposes == remedy::nothing) return standing::nothing;
  if (!facts_of(s.rule->proposes).is_placement || s.trial.found == finding::gain) return standing::proposed;
  const bool is_decided = s.trial.found == finding::level || s.trial.found == finding::loss;
  return is_decided ? standing::no_gain : standing::not_measured;
}

const char* standing_word(standing of) noexcept { return words[of]; }

std::string proposal_text(const advised_site& s, const advice& a) {
  std::string remedy = remedy_text(s, a.limits);
  const standing is = standing_of(s);
  if (is == standing::no_gain)
    return "change nothing: its route gave no gain; only 'ashlar verify --a OLD --b NEW' tells of the change of "
           "code: " +
           remedy;
  return is == standing::not_measured ? how_to_measure(s, a) + ": " + remedy : remedy;
}

std::string proposals_text(const advice& a, const std::string& noun) {
  const std::size_t unknown = count(a, standing::not_measured), all = count(a, standing::proposed) + unknown;
  std::string text = fmt::format("{} of {} {} a remedy to try", in_words(all),
                                 noun.empty() ? in_words(a.sites.size()) : in_words(a.sites.size(), noun.c_str()),
                                 all == 1 ? "has" : "have");
  if (unknown != 0)
    text += unknown == all ? ", not measured" : fmt::format(", {} of them not measured", in_words(unknown));
  const std::size_t without = count(a, standing::no_gain);
  return without == 0 ? text : text + fmt::format("; no gain was measured at {} more", in_words(without));
}

}  // namespace ashlar::cli
