// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fills the page's table of the plan.
#include "cli/advise/picture.hpp"
#include "cli/advise/words.hpp"
#include "cli/routes/plan_text.hpp"
#include "cli/support/table.hpp"

namespace ashlar::cli {

namespace {

page_group group_of_page(std::size_t number, const advice& a, const site_titles& titles) {
  const route_group& group = a.plan.groups[number];
  return {.name = group.name,
          .resource = resource_text(group),
          .sites = titles.of(group),
          .effect = number < a.plan_trials.size() ? a.plan_trials[number].text : "",
          .stays = a.keeps_group(number),
          .objects = advised_objects(group).value_or(0),
          .chunk_bytes = group.chunk_bytes,
          .budget_bytes = group.budget_bytes};
}

/// Returns: the effect that all groups have together; empty if each has its own, or none has one.
std::string effect_of_all(const std::vector<site_trial>& trials) {
  return trials.size() > 1 && trials.front().groups.size() == trials.size() ? trials.front().text : "";
}

/// Effects: those that were measured together have the effect once.
void tell_groups_together(advice_page& page, const std::vector<site_trial>& trials) {
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const std::vector<std::size_t>& together = trials[i].groups;
    if (!together.empty() && together.front() != i)
      page.plan[i].effect = "measured with " + page.plan[together.front()].name;
  }
}

}  // namespace

void add_plan(advice_page& page, const advice& a) {
  if (a.plan.groups.empty()) {
    if (!a.no_plan.empty()) page.plan_note = "There is none: " + a.no_plan + ".";
    return;
  }
  const site_titles titles(a.plan);
  for (std::size_t i = 0; i < a.plan.groups.size(); ++i) page.plan.push_back(group_of_page(i, a, titles));
  page.plan_note = a.no_plan.empty()
                       ? "Memory of their own for " + plan_size_text(a.plan) +
                             ", without a change of code: 'ashlar advise -o PLAN' writes it, 'ashlar run "
                             "--plan PLAN' follows it. A group that pins more than its budget is given up."
                       : "None of it is left: " + a.no_plan + ".";
  const std::string together = effect_of_all(a.plan_trials);
  if (together.empty()) return tell_groups_together(page, a.plan_trials);
  page.plan_note += " Measured: " + together + ".";
  for (page_group& group : page.plan) group.effect.clear();
}

}  // namespace ashlar::cli
