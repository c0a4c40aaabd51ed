// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Advice for programs: every feature of every site.
#include <algorithm>
#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/advise/advice.hpp"
#include "cli/advise/proposal.hpp"
#include "cli/rounds/verdict.hpp"
#include "cli/routes/plan.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

json to_json(const study::amount& a) { return {{"objects", a.objects}, {"bytes", a.bytes}}; }

template <unsigned SubBits>
json to_json(const sparse_counts<SubBits>& counts) {
  json rows = json::array();
  counts.for_each([&](std::uint64_t least, std::uint64_t greatest, std::uint64_t n) {
    rows.push_back({{"from", least}, {"to", greatest}, {"objects", n}});
  });
  return rows;
}

json to_json(const thread_set& threads) {
  return !threads.any ? json("none") : threads.several ? json("several") : json(threads.first);
}

json requests_json(const site_features& f) {
  json calls = json::object();
  for (std::size_t i = 0; i < f.requests.size(); ++i)
    if (f.requests[i] != 0) calls[std::string(trace::name(static_cast<trace::operation>(i)))] = f.requests[i];
  return calls;
}

json models_json(const site_features& f) {
  const pool_model pool = f.pool();
  return {{"pool",
           {{"cell_bytes", pool.cell_bytes},
            {"slabs", pool.slabs},
            {"held_bytes", pool.held_bytes},
            {"holes", pool.holes}}},
          {"counted_arena",
           {{"chunk_bytes", counted_arena_model::chunk_bytes},
            {"peak_held_bytes", f.arena.peak_held_bytes()},
            {"peak_live_bytes", f.arena.peak_live_bytes()},
            {"held_by_live", f.arena.held_by_live()},
            {"pinned_chunks", f.arena.pinned_chunks()}}}};
}

json program_json(const program_features& p) {
  return {{"traces", p.traces},
          {"events", p.events},
          {"recorded_ns", p.duration_ns},
          {"allocated", to_json(p.allocated)},
          {"never_freed", to_json(p.never_freed)},
          {"peak", to_json(p.peak)},
          {"after_last_allocation", to_json(p.at_last_birth)},
          {"freed", p.freed},
          {"freed_by_others", p.freed_by_others},
          {"mapped_blocks", p.mapped_blocks},
          {"mapped_bytes", p.mapped_bytes},
          {"without_stack", p.without_stack},
          {"threads", p.threads}};
}

json frame_json(const site_frame& frame, const call_tree& tree, const std::vector<source_place>& places) {
  json calls = json::array();
  for (const source_place& place : places) calls.push_back(place.str());
  const site_module& module = tree.modules()[frame.module];
  return {{"build_id", module.build_id}, {"module", module.path}, {"offset", frame.offset}, {"calls", calls}};
}

std::string level_of(const advised_site& s) {
  if (s.trial.found) return "measured";
  return s.rule->proposes == remedy::nothing ? "estimate" : "simulated";
}

json to_json(const phase_features& p) {
  return {{"opening_mark", p.opening},  {"closing_mark", p.closing}, {"phases", p.phases},
          {"of_program", p.of_program}, {"objects", p.objects},      {"all_alike", p.all_alike}};
}

json to_json(const forecast& expected) {
  return {{"calls_saved", expected.calls},         {"objects_served", expected.served},
          {"live_bytes", expected.live_bytes},     {"held_bytes", expected.held_bytes},
          {"added_bytes", expected.added_bytes()}, {"held_by_live", expected.held_by_live()}};
}

json to_json(const std::vector<refuted_rule>& refuted) {
  json all = json::array();
  for (const refuted_rule& each : refuted)
    all.push_back({{"rule", std::string(each.rule->name)},
                   {"remedy", std::string(facts_of(each.rule->proposes).name)},
                   {"reason", each.reason}});
  return all;
}

json to_json(const site_trial& trial) {
  if (!trial.found) return nullptr;
  return {{"text", trial.text}, {"verdict", verdict_word(*trial.found)}, {"ratio", std::exp(trial.log_ratio)}};
}

/// Returns: the offset of the request's return address in its module: it tells sites apart that have no lines. 0 if the
/// function's name is the offset already.
std::uint64_t offset_of(const advised_site& s, const call_tree& tree, site_names& names) {
  if (s.request.place.function.find("+0x") != std::string::npos) return 0;
  for (const std::uint64_t index : tree.frames(tree.nodes()[s.node].stack))
    for (const source_place& place : names.places(index))
      if (place.function == s.request.place.function) return tree.frame(index).offset;
  return 0;
}

/// Returns: what tells the site from others of its function and place, unless that is the place itself.
std::string distinction_of(const advised_site& s, std::uint64_t offset) {
  const source_place& place = s.request.place;
  const std::string mark = site_distinction(s);
  return place.function.empty() || mark == "at " + address_text(place.module, offset) ? "" : mark;
}

}  // namespace

json site_json(const advised_site& s, const advice& a, const call_tree& tree, site_names& names) {
  const site_node& node = tree.nodes()[s.node];
  const std::uint64_t offset = s.request.place.line == 0 ? offset_of(s, tree, names) : 0;
  json chain = json::array();
  for (const std::uint64_t frame : tree.frames(node.stack).first(node.depth))
    chain.push_back(frame_json(tree.frame(frame), tree, names.places(frame)));
  return {{"site", site_title(s, tree)},
          {"function", s.request.place.function},
          {"file", s.request.place.file},
          {"line", s.request.place.line},
          {"module", s.request.place.module},
          {"offset", offset},
          {"distinction", distinction_of(s, offset)},
          {"caller", s.caller.function},
          {"caller_line", s.caller.line},
          {"mark", s.mark},
          {"container", s.request.container},
          {"element", s.request.element},
          {"through", s.request.through},
          {"more_places", s.more_places},
          {"chain", chain},
          {"rule", std::string(s.rule->name)},
          {"remedy", std::string(facts_of(s.rule->proposes).name)},
          {"words", std::string(facts_of(s.rule->proposes).words)},
          {"evidence", s.evidence},
          {"advice", remedy_text(s, a.limits)},
          {"standing", standing_word(standing_of(s))},
          {"proposal", proposal_text(s, a)},
          {"gain", {{"level", level_of(s)}, {"estimate_ns", s.estimate}, {"text", gain_text(s, a)}}},
          {"forecast", s.rule->proposes == remedy::nothing ? json() : to_json(s.expected)},
          {"dropped", to_json(s.refuted)},
          {"trial", to_json(s.trial)},
          {"owner", {{"function", s.owner}, {"share", s.owner_share}}},
          {"phases", to_json(s.phases)},
          {"features", features_json(*s.features)}};
}

json features_json(const site_features& f) {
  return {{"allocated", to_json(f.allocated)},
          {"never_freed", to_json(f.never_freed)},
          {"at_program_peak", to_json(f.at_program_peak)},
          {"peak", {{"objects", f.peak_objects}, {"bytes", f.peak_bytes}}},
          {"calls", requests_json(f)},
          {"alignment", f.alignment},
          {"sizes", to_json(f.sizes)},
          {"median_bytes", f.sizes.quantile(0.5)},
          {"same_size_as_before", f.same_size},
          {"freed", f.freed},
          {"freed_by_others", f.freed_by_others},
          {"allocating_thread", to_json(f.births)},
          {"foreign_freeing_thread", to_json(f.foreign_deaths)},
          {"temporary", f.temporary},
          {"lifo_in_thread", f.lifo_thread},
          {"lifo_in_site", f.lifo_site},
          {"spread_pages", f.spread_pages},
          {"lifetimes_ns", to_json(f.lifetime_ns)},
          {"median_life_ns", f.freed == 0 ? 0 : std::max<std::uint64_t>(f.lifetime_ns.quantile(0.5), 1)},
          {"lifetimes_bytes", to_json(f.lifetime_bytes)},
          {"growth",
           {{"steps", f.growth.steps},
            {"chains", f.growth.chains},
            {"moved_bytes", f.growth.moved_bytes},
            {"final_bytes", to_json(f.growth.final_bytes)}}},
          {"batches",
           {{"epochs", f.batches.epochs},
            {"objects", f.batches.objects},
            {"in_final_runs", f.batches.in_final_runs},
            {"longest_objects", f.batches.longest_objects}}},
          {"simulated", models_json(f)}};
}

json plan_json(const advice& a) {
  const site_titles titles(a.plan);
  json groups = json::array();
  for (std::size_t i = 0; i < a.plan.groups.size(); ++i) {
    const route_group& group = a.plan.groups[i];
    json sites = json::array();
    for (const route_site& site : group.sites) sites.push_back(titles.of(site));
    groups.push_back({{"group", group.name},
                      {"remedy", resource_text(group)},
                      {"cell_bytes", group.cell_bytes},
                      {"chunk_bytes", group.chunk_bytes},
                      {"budget_bytes", group.budget_bytes},
                      {"evidence", group.evidence},
                      {"stays", a.keeps_group(i)},
                      {"trial", i < a.plan_trials.size() ? to_json(a.plan_trials[i]) : json()},
                      {"sites", sites}});
  }
  return groups;
}

json advice_json(const advice& a, const call_tree& tree, site_names& names) {
  json sites = json::array();
  for (const advised_site& s : a.sites) sites.push_back(site_json(s, a, tree, names));
  return {{"program", a.program},
          {"traces", a.traces},
          {"warnings", a.warnings},
          {"pair_ns", a.limits.pair_ns},
          {"program_ns", a.limits.program_ns},
          {"rules", all_thresholds(a.limits)},
          {"features", program_json(a.features)},
          {"resident_peak_bytes", a.resident_peak == 0 ? json() : json(a.resident_peak)},
          {"own_allocator", own_allocator_json(a.own)},
          {"processes", a.processes},
          {"choice", a.choice.empty() ? json() : json(a.choice)},
          {"measurement", a.measurement.data},
          {"not_measured", a.not_measured.empty() ? json() : json(a.not_measured)},
          {"plan", plan_json(a)},
          {"no_plan", a.no_plan.empty() ? json() : json(a.no_plan)},
          {"order", a.order.empty() ? json() : json(a.order)},
          {"sites", sites}};
}

}  // namespace ashlar::cli
