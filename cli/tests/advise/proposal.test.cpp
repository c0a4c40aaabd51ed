// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which remedies are proposed without a measurement: one for each rule.
#include <string>

#include <gtest/gtest.h>

#include "cli/advise/proposal.hpp"
#include "cli/advise/rules.hpp"

namespace {

using namespace ashlar::cli;

TEST(proposals, unmeasured_are_the_remedies_that_leave_fewer_requests) {
  std::string proposed, measured_first;
  for (const advice_rule& rule : advice_rules()) {
    advised_site s;
    s.rule = &rule;
    const standing is = standing_of(s);
    EXPECT_EQ(is == standing::nothing, rule.proposes == remedy::nothing) << rule.name;
    const std::string name(facts_of(rule.proposes).name);
    if (is == standing::proposed) proposed += name + " ";
    if (is == standing::not_measured) measured_first += name + " ";
    for (const finding found : {finding::gain, finding::level, finding::loss, finding::undecided}) {
      s.trial.found = found;
      const bool is_no_gain = found == finding::level || found == finding::loss;
      EXPECT_EQ(is_unchanged(s), is == standing::nothing || (is == standing::not_measured && is_no_gain)) << rule.name;
    }
  }
  EXPECT_EQ(proposed, "inline_buffer reserve keep_object ");
  EXPECT_EQ(measured_first, "hand_over region segregate scratch arena static_plan counted_arena pool ");
}

}  // namespace
