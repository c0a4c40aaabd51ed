// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fills the page's table of the plan.
#include <algorithm>
#include <map>

#include "cli/advise/picture.hpp"
#include "cli/advise/words.hpp"
#include "cli/routes/plan_text.hpp"
#include "cli/support/table.hpp"

namespace ashlar::cli {

namespace {

page_group group_of_page(std::size_t number, const advice& a, const site_titles& titles) {
  const route_group& group = a.plan.groups[number];
  const auto objects = group.evidence.find("objects");
  return {.name = group.name,
          .resource = resource_text(group),
          .sites = titles.of(group),
          .effect = number < a.plan_trials.size() ? a.plan_trials[number].text : "",
          .stays = std::ranges::find(a.left_groups, number) == a.left_groups.end(),
          .objects = objects == group.evidence.end() ? 0 : objects->get<std::uint64_t>(),
          .chunk_bytes = group.chunk_bytes,
          .budget_bytes = group.budget_bytes};
}

/// Returns: the effect that all groups have together; empty if each has its own, or none has one.
std::string effect_of_all(const std::vector<site_trial>& trials) {
  if (trials.size() < 2) return "";
  const bool same = std::ranges::all_of(trials, [&](const site_trial& t) { return t.text == trials.front().text; });
  return same ? trials.front().text : "";
}

/// Effects: those that were measured together have the effect once.
void tell_groups_together(advice_page& page) {
  std::map<std::string, std::string> first;  // group of the effect
  for (page_group& group : page.plan)
    if (const auto [at, is_new] = first.try_emplace(group.effect, group.name); !is_new && !group.effect.empty())
      group.effect = "measured with " + at->second;
}

}  // namespace

void add_plan(advice_page& page, const advice& a) {
  if (a.plan.groups.empty()) {
    if (!a.no_plan.empty()) page.plan_note = "There is none: " + a.no_plan + ".";
    return;
  }
  const site_titles titles(a.plan);
  for (std::size_t i = 0; i < a.plan.groups.size(); ++i) page.plan.push_back(group_of_page(i, a, titles));
  page.plan_note =
      "Memory of their own for " + plan_size_text(a.plan) +
      ", without a change of code: 'ashlar advise -o PLAN' writes it, 'ashlar run --plan PLAN' follows it. A "
      "group that pins more than its budget is given up.";
  const std::string together = effect_of_all(a.plan_trials);
  if (together.empty()) return tell_groups_together(page);
  page.plan_note += " Measured: " + together + ".";
  for (page_group& group : page.plan) group.effect.clear();
}

}  // namespace ashlar::cli
