// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of a real program's sites, by what changes of its code gain; the measurement is made up.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/advise/measurement.hpp"
#include "cli/advise/proposal.hpp"
#include "cli/tests/command.hpp"

namespace {

using namespace ashlar::cli;
using nlohmann::json;

class advise_order : public ashlar_test::command_test {
protected:
  advise_order() : input_(trace_of(ASHLAR_ADVISE_THREE_SITES, "t.trace", "")) {
    const auto ids = tree_.add(input_.stacks(), input_.modules(), input_.info().stack_depth);
    tree_.finish();
    seen_.emplace(tree_);
    seen_->begin_trace(ids);
    while (const auto event = input_.next()) seen_->add(*event);
    seen_->end_trace();
    site_names names(tree_);
    made_.traces = {input_.path()};
    made_.features = seen_->program();
    made_.sites = choose_sites(tree_, *seen_, names, made_.limits);
    made_.plan = advice_plan(made_, tree_, *seen_, names, [](const auto&...) { return true; });
    tell_routes(made_, tree_);
  }

  /// The function and what becomes of its remedy, of the first site of each function that has one.
  [[nodiscard]] std::vector<std::pair<std::string, standing>> sites() const {
    std::vector<std::pair<std::string, standing>> all;
    for (const advised_site& s : made_.sites) {
      const std::string& name = s.request.place.function;
      const std::size_t end = name.find('(');
      const std::size_t begin = name.rfind(':', end) + 1;
      const std::pair found(name.substr(begin, end - begin), standing_of(s));
      const bool is_new = std::ranges::find(all, found.first, &std::pair<std::string, standing>::first) == all.end();
      if (is_new && s.rule->proposes != remedy::nothing) all.push_back(found);
    }
    return all;
  }

  trace_input input_;
  call_tree tree_;
  std::optional<site_observer> seen_;
  advice made_;
};

/// A run takes 85 ms. No route measures the arena of tree_insert, whose greatest gain is that nothing is freed one by
/// one, nor the reserve of grow_rows.
TEST_F(advise_order, is_that_of_the_changes_of_code_with_and_without_routes) {
  ASSERT_EQ(made_.plan.groups.size(), 1U);
  const json whole = {{"ratio", 0.984}, {"verdict", "gain"}, {"pairs", 40}, {"text", "its effect"}};
  add_trials(made_, tree_, {{"groups", json::array()}, {"whole_plan_over_empty_plan", whole}, {"cpu_ms", 85.0}}, "");
  using enum standing;
  EXPECT_EQ(sites(), (std::vector<std::pair<std::string, standing>>{
                         {"tree_insert", not_measured}, {"index_insert", proposed}, {"grow_rows", proposed}}));
  const std::string page = advice_text(made_, tree_, 8);
  EXPECT_NE(page.find("MEASURED:"), page.npos) << page;
  EXPECT_NE(page.find("-> not measured: change it, and measure by 'ashlar verify --a OLD --b NEW'"), page.npos) << page;
}

TEST_F(advise_order, a_measured_loss_is_no_proposal) {
  const json whole = {{"ratio", 1.03}, {"verdict", "loss"}, {"pairs", 40}, {"text", "its effect"}};
  add_trials(made_, tree_, {{"groups", json::array()}, {"whole_plan_over_empty_plan", whole}, {"cpu_ms", 85.0}}, "");
  using enum standing;
  EXPECT_EQ(sites(), (std::vector<std::pair<std::string, standing>>{
                         {"tree_insert", not_measured}, {"grow_rows", proposed}, {"index_insert", no_gain}}));
  const std::string page = advice_text(made_, tree_, 8);
  EXPECT_EQ(page.find("\n  3  index_insert"), page.npos) << page;
  const std::size_t unchanged = page.find("\nChange nothing at the other ");
  ASSERT_NE(unchanged, page.npos) << page;
  EXPECT_NE(page.find(" of them; first those whose remedy was measured:\n     ", unchanged), page.npos) << page;
  EXPECT_NE(page.find("Change nothing: its route gave", unchanged), page.npos) << page;
  EXPECT_TRUE(proposals_text(made_, "").ends_with("; no gain was measured at 1 more")) << proposals_text(made_, "");
}

}  // namespace
