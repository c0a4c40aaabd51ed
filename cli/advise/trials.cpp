// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tell_routes
// add_trials
// ├─ group_trials   the effect of each group
// ├─ group_of_site  the group of a site
// ├─ untried        the reason of a site without a group
// └─ sort_by_trial
#include "cli/advise/trials.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/advise/grouping.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;
using chain_map = std::map<std::vector<route_frame>, std::size_t>;

/// The whole plan, if it was measured.
const json* whole_plan_of(const json& data) {
  const auto name = data.find("whole_plan");
  if (name == data.end()) return nullptr;
  const json& remedies = data.at("remedies");
  const auto at = std::find_if(remedies.begin(), remedies.end(),
                               [&name](const json& remedy) { return remedy.at("name") == *name; });
  return at == remedies.end() || at->contains("failure") ? nullptr : &*at;
}

/// Returns: the effect of the remedy by the measure that decides.
const json& deciding_of(const json& remedy, const json& data) {
  return remedy.at("measures").at(data.value("metric", "cpu_ms"));
}

bool has_interval(const json& effect, bool is_confirmed, const json& data) {
  const char* const least = is_confirmed ? "least_confirming_rounds" : "least_rounds";
  return effect.at("pairs") >= std::max<std::size_t>(data.value(least, 0U), 2);
}

site_trial trial_of_part(const json& effect) {
  const std::size_t together = effect.at("groups").size();
  return {.found = effect.at("interval")[1].get<double>() < 1 ? trial_result::gain : trial_result::no_gain,
          .text =
              (together == 1 ? "" : counted(together, "group") + " together: ") + effect.at("text").get<std::string>(),
          .log_ratio = std::log(effect.at("ratio").get<double>()),
          .groups = effect.at("groups")};
}

/// Whether the whole plan gains may be undecided, and so is then each of its groups. Its routes are not the heap below
/// them: where libashlar.so was measured alone, that is the baseline.
site_trial trial_of_plan(const json& remedy, std::size_t groups, const json& data) {
  const json over_heap = data.value("whole_plan_over_heap", json());
  const bool is_over_heap = !over_heap.is_null();
  const json& effect = is_over_heap ? over_heap : remedy;
  const json& deciding = is_over_heap ? over_heap : deciding_of(remedy, data);
  site_trial trial{.found = trial_result::open,
                   .text = (groups == 1 ? "" : "all " + counted(groups, "group") + " of the plan together: ") +
                           (is_over_heap ? "over libashlar.so alone, " : "") + effect.at("text").get<std::string>(),
                   .log_ratio = std::log(deciding.at("ratio").get<double>()),
                   .groups = std::vector<std::size_t>(groups)};
  std::iota(trial.groups.begin(), trial.groups.end(), std::size_t{0});
  if (!has_interval(deciding, effect.value("confirmed", false), data)) return trial;
  if (deciding.at("takes") == "less") trial.found = trial_result::gain;
  if (deciding.at("takes") == "more" || deciding.at("takes") == "equal") trial.found = trial_result::no_gain;
  return trial;
}

/// Returns: of each group of the plan; none if nothing was measured of it.
std::vector<std::optional<site_trial>> group_trials(const json& data, std::size_t groups) {
  std::vector<std::optional<site_trial>> trials(groups);
  for (const json& effect : data.at("groups"))
    for (const std::size_t group : effect.at("groups")) trials.at(group) = trial_of_part(effect);
  const json* const whole = data.at("groups").empty() ? whole_plan_of(data) : nullptr;
  if (whole == nullptr || deciding_of(*whole, data).at("pairs") < 2) return trials;
  for (auto& trial : trials) trial = trial_of_plan(*whole, groups, data);
  return trials;
}

chain_map groups_by_chain(const route_plan& plan) {
  chain_map groups;
  for (std::size_t i = 0; i < plan.groups.size(); ++i)
    for (const route_site& site : plan.groups[i].sites) groups.emplace(site.chain, i);
  return groups;
}

/// A site and a group that have calls in common.
struct shared_calls {
  std::size_t group = 0;
  bool some = false;  ///< The group has objects of some of the site's callers alone.
};

std::optional<shared_calls> group_of_site(const std::vector<route_frame>& chain, const chain_map& groups) {
  const auto longer = groups.lower_bound(chain);
  const bool begins = longer != groups.end() && longer->first.size() > chain.size() &&
                      std::equal(chain.begin(), chain.end(), longer->first.begin());
  for (std::vector<route_frame> part = chain; !part.empty(); part.pop_back())
    if (const auto at = groups.find(part); at != groups.end()) return shared_calls{at->second, false};
  return begins ? std::optional<shared_calls>({longer->second, true}) : std::nullopt;
}

bool has_ancestor(std::uint32_t node, std::uint32_t ancestor, const call_tree& tree) {
  while (node != ancestor && node != site_node::none) node = tree.nodes()[node].parent;
  return node == ancestor;
}

std::string untried(const advised_site& s, const advice& a, const call_tree& tree) {
  for (const left_out_site& left : a.left_out)
    if (has_ancestor(s.node, left.node, tree) || has_ancestor(left.node, s.node, tree)) return left.obstacle;
  if (std::string obstacle = plan_obstacle(*s.features, a.limits); !obstacle.empty()) return obstacle;
  for (const ungrouped_site& site : a.ungrouped)
    if (has_ancestor(s.node, site.node, tree)) return site.obstacle;
  return "its route would have more than " + counted(most_routed_depth, "frame");
}

/// Returns: what would have been seen, for a site that was not tried.
std::string bound_text(const json& data) {
  const json& seen = data.value("would_have_been_seen", json());
  return seen.is_null() ? "the rounds are too few to show an effect"
                        : "in these rounds " + seen.at("text").get<std::string>();
}

bool is_decided(const site_trial& trial) {
  return trial.found == trial_result::gain || trial.found == trial_result::no_gain;
}

/// Sites without a remedy stay behind the others, in their order.
void sort_by_trial(std::vector<advised_site>& sites) {
  const auto key = [](const advised_site& s) {
    if (s.rule->proposes == remedy::nothing) return std::tuple(3, 0.0);
    const int rank = s.trial.found == trial_result::gain ? 0 : s.trial.found == trial_result::no_gain ? 2 : 1;
    return std::tuple(rank, is_decided(s.trial) ? s.trial.log_ratio : 0.0);
  };
  std::stable_sort(sites.begin(), sites.end(),
                   [&key](const advised_site& x, const advised_site& y) { return key(x) < key(y); });
}

/// Returns: why the sites of a group have no effect of their own.
std::string why_by_estimate(const advice& a, const json& data, const std::string& plan_failure) {
  if (!plan_failure.empty()) return "routing fails: " + plan_failure;
  if (a.plan.groups.empty()) return "there is no plan to try";
  if (a.plan_trials.size() == 1 && a.plan_trials.front().found == trial_result::open)
    return "the effect of the plan is undecided";
  const json& budget = data.value("groups_budget_seconds", json());
  if (!budget.is_number()) return "the effects of the groups are not known";
  return fmt::format("the effect of each group of the plan takes about --budget {:.0f}s", budget.get<double>());
}

std::string order_of(const advice& a, const json& data, const std::string& plan_failure) {
  const auto has_found = [&a](trial_result found) {
    return std::ranges::any_of(a.sites, [found](const advised_site& s) {
      return s.rule->proposes != remedy::nothing && s.trial.found == found;
    });
  };
  const bool gains = has_found(trial_result::gain);
  const bool each = !data.at("groups").empty() || (a.plan_trials.size() == 1 && is_decided(a.plan_trials.front()));
  if (each)
    return gains
               ? "First those whose group gains, by its measured gain; then those that were not tried, by ESTIMATE; "
                 "those whose group does not gain are the last."
               : "None of those with a remedy is in a group that gains: first those that were not tried, by ESTIMATE; "
                 "those whose group does not gain are the last.";
  const std::string estimate =
      "that of ESTIMATE, not of measured gain: " + why_by_estimate(a, data, plan_failure) + ".";
  if (gains) return "First those of the plan, which gains as a whole. The order within is " + estimate;
  if (has_found(trial_result::no_gain))
    return "Last those of the plan, which does not gain as a whole. The order within is " + estimate;
  return "The order is " + estimate;
}

}  // namespace

void tell_routes(advice& a, const call_tree& tree) {
  const chain_map groups = groups_by_chain(a.plan);
  for (advised_site& s : a.sites) {
    if (!facts_of(s.rule->proposes).may_be_routed) continue;
    const auto shared = group_of_site(chain_of(s, tree), groups);
    if (!shared) s.evidence.append("; no route would serve it, as ").append(untried(s, a, tree));
    else
      s.evidence += fmt::format("; group {} of the plan routes {}", a.plan.groups[shared->group].name,
                                shared->some ? "calls of some callers" : "it");
  }
}

void add_trials(advice& a, const call_tree& tree, const json& data, const std::string& plan_failure) {
  const auto trials = group_trials(data, a.plan.groups.size());
  a.plan_trials.clear();
  for (const auto& trial : trials) a.plan_trials.push_back(trial.value_or(site_trial{}));
  const chain_map groups = groups_by_chain(a.plan);
  const std::string bound = bound_text(data);
  for (advised_site& s : a.sites) {
    const auto shared = group_of_site(chain_of(s, tree), groups);
    if (shared && trials[shared->group]) {
      s.trial = *trials[shared->group];
      if (s.trial.groups.size() == 1)
        s.trial.text = fmt::format("group {}: {}", a.plan.groups[shared->group].name, s.trial.text);
      if (shared->some) s.trial.text = "calls of some callers, routed: " + s.trial.text;
      continue;
    }
    const std::string reason = !shared                ? "no route would serve it, as " + untried(s, a, tree)
                               : plan_failure.empty() ? "the budget has no room for two rounds of the plan"
                                                      : "routing fails: " + plan_failure;
    s.trial = {.found = trial_result::none, .text = fmt::format("{}; {}", reason, bound), .log_ratio = 0};
  }
  sort_by_trial(a.sites);
  a.order = order_of(a, data, plan_failure);
}

}  // namespace ashlar::cli
