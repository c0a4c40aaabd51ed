// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Advice as a page of 100 columns, three sentences for each site, and as JSON.
#include <cmath>

#include <fmt/format.h>

#include "cli/advise/advice.hpp"
#include "cli/preload/status.hpp"
#include "cli/rounds/effect.hpp"
#include "cli/routes/plan.hpp"
#include "cli/support/output.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

constexpr detail::enum_table<standing, const char*> words = {"nothing", "proposed", "not measured", "no gain"};

std::string how_to_measure(const advised_site& s, const advice& a) {
  if (s.trial.found) return "undecided: a larger --budget may decide";
  const nlohmann::json& data = a.measurement.data;
  if (s.has_route && (data.is_null() || !data.contains("whole_plan") || data["whole_plan"].is_null()))
    return "not measured: measure it by 'ashlar advise " + shell_word(a.traces.front()) + " --measure run'";
  if (s.has_route && data.value("groups_budget_seconds", nlohmann::json()).is_number())
    return "not measured: a larger --budget measures it";
  if (s.has_route) return "not measured: nothing is known of its route";
  return "not measured: change it, and measure by 'ashlar verify --a OLD --b NEW'";
}

std::size_t count(const advice& a, standing wanted) {
  return static_cast<std::size_t>(
      std::ranges::count_if(a.sites, [wanted](const advised_site& s) { return standing_of(s) == wanted; }));
}

constexpr std::size_t unchanged_shown = 3;
constexpr std::uint64_t many_bytes = std::uint64_t{16} << 20;

/// What is alive when frees alone follow is what the program goes on with after its peak. A plan may make more of it.
std::string after_peak_text(const advice& a) {
  const program_features& p = a.features;
  if (p.traces == 0 || (a.plan.groups.empty() && p.at_last_birth.bytes * 2 > p.peak.bytes)) return "";
  std::uint64_t live = 0, held = 0;
  for (const route_group& group : a.plan.groups) {
    live += group.evidence.value("live_bytes_after_peak", std::uint64_t{0});
    held += group.evidence.value("held_bytes_after_peak", std::uint64_t{0});
  }
  std::string text = fmt::format("Memory after the peak: {} of its {} are alive after the last allocation",
                                 in_bytes(p.at_last_birth.bytes / p.traces), in_bytes(p.peak.bytes / p.traces));
  if (a.plan.groups.empty()) return text + ".";
  return text + fmt::format("; {} of them in the groups of the plan, which hold at most {} for them (SIMULATED).",
                            in_bytes(live / p.traces), in_bytes(held / p.traces));
}

std::string heading(const advice& a) {
  const program_features& p = a.features;
  std::string text = shorten(a.program.empty() ? a.traces.front() : a.program, page_width) + "\n";
  text += paragraph(fmt::format(
      "{}{}: {} of {}, at most {} alive at once, {}, {}.", p.traces == 1 ? "" : counted(p.traces, "trace") + ", ",
      in_words(p.events, "event"), in_words(p.allocated.objects, "allocation"), in_bytes(p.allocated.bytes),
      in_bytes(p.largest_peak), counted(p.threads, "thread"),
      a.resident_peak == 0 ? "its resident peak unknown" : in_bytes(a.resident_peak) + " resident at most"));
  if (a.own) text += paragraph(own_allocator_text(*a.own));
  text += paragraph(a.choice) + paragraph(after_peak_text(a));
  for (const std::string& warning : a.warnings) text += paragraph(warning);
  return text;
}

std::string sizes_text(const site_features& f) {
  if (f.sizes.distinct() == 1) return in_bytes(f.sizes.max()) + " each";
  return fmt::format("{} to {}, half up to {}", in_bytes(f.sizes.quantile(0)), in_bytes(f.sizes.max()),
                     in_bytes(f.sizes.quantile(0.5)));
}

std::string through_text(const advised_site& s) {
  return s.request.through.empty() ? "" : ", through " + s.request.through;
}

/// Titles are not cut, since their ends tell them apart; a word that is wider than the page is.
std::string title_text(const std::string& head, const advised_site& s, const call_tree& tree) {
  const std::string more = s.more_places == 0 ? "" : " and " + counted(s.more_places, "more place");
  return paragraph(site_title(s, tree) + more, head);
}

std::string site_text(std::size_t rank, const advised_site& s, const advice& a, const call_tree& tree) {
  std::string text = "\n" + title_text(fmt::format("{:>3}  ", rank), s, tree);
  text += paragraph(amounts_text(s, a), "     ");
  text += paragraph(capital(s.evidence) + ".", "     ");
  return text + paragraph(fmt::format("-> {}. {}.", proposal_text(s, a), gain_text(s, a)), "     ");
}

std::string unchanged_site_text(const advised_site& s, const advice& a, const call_tree& tree) {
  const std::string verdict = standing_of(s) == standing::no_gain ? capital(proposal_text(s, a)) + ". " : "";
  const std::string text = fmt::format("{} of the allocations{}; {}. {}{}.",
                                       part_of(s.features->allocated.objects, a.features.allocated.objects),
                                       through_text(s), s.evidence, verdict, gain_text(s, a));
  return title_text("     ", s, tree) + paragraph(text, "       ");
}

/// Those that were measured as no gain come first, at most `top`, then the busiest of the others. `sites`: unchanged.
std::string unchanged_text(std::span<const advised_site> sites, const advice& a, const call_tree& tree,
                           std::size_t top) {
  if (sites.empty()) return "";
  const auto measured = static_cast<std::size_t>(
      std::ranges::count_if(sites, [](const advised_site& s) { return standing_of(s) == standing::no_gain; }));
  const auto rest = sites.subspan(measured);
  const bool is_one = sites.size() == 1, are_all = sites.size() == a.sites.size();
  const std::string which = is_one ? are_all ? "the only one" : "the other one"
                                   : (are_all ? "" : "the other ") + in_words(sites.size()) + " of them";
  std::string text =
      a.own ? fmt::format("\nNo remedy at {}, as far as a small part tells", which) : "\nChange nothing at " + which;
  text += is_one ? ":\n" : measured == 0 ? "; the busiest:\n" : "; first those whose remedy was measured:\n";
  for (const advised_site& s : sites.first(std::min(measured, top))) text += unchanged_site_text(s, a, tree);
  for (const advised_site& s : rest.first(std::min(rest.size(), unchanged_shown)))
    text += unchanged_site_text(s, a, tree);
  return text;
}

std::string effect_of(const stack_counts& counts) {
  if (counts.without == counts.allocations)
    return "No allocation has a call stack, so there are no call sites to advise on";
  return fmt::format("{} of {} {}, and cannot be advised on", grouped(counts.without),
                     counted(counts.allocations, "allocation"),
                     counts.without == 1 ? "has no call stack" : "have no call stacks");
}

std::string cause_of(const stack_counts& counts) {
  if (counts.unasked.size() == 1)
    return counts.unasked.front() + " was recorded without stacks; `ashlar record --stacks 16` has them";
  if (!counts.unasked.empty())
    return counted(counts.unasked.size(), "trace was", "traces were") +
           " recorded without stacks; `ashlar record --stacks 16` has them";
  if (counts.is_table_full)
    return fmt::format("a recorder keeps {}, and the program has more",
                       counted(recorder::max_stacks, "different stack"));
  return "the recorder could not unwind the program there: before its start, or over a C library without an unwinder";
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
  return is == standing::not_measured ? remedy + "; " + how_to_measure(s, a) : remedy;
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

std::string malloc_remedy(const advice& a) {
  const program_features& p = a.features;
  const double run_ns = static_cast<double>(p.allocated.objects) * a.limits.pair_ns / static_cast<double>(p.traces);
  const std::string share =
      a.limits.program_ns > 0 ? fmt::format(", {} of the program", percent(run_ns, a.limits.program_ns)) : "";
  const std::string trace = shell_word(a.traces.front());
  return fmt::format(
      "another malloc: ESTIMATE: its calls take about {} a run{}, at {:.0f} ns a malloc and free; placement "
      "may add to that or take away. A trace does not decide it: 'ashlar replay {}' names the fastest "
      "for these calls, 'ashlar advise {} --measure run --only mallocs' measures the program under each.",
      human_time(run_ns), share, a.limits.pair_ns, trace, trace);
}

std::string page_remedy(const advice& a) {
  const program_features& p = a.features;
  if (a.own)
    return fmt::format(
        "page policy: undecided: {} at malloc's peak are a small part of the program's memory; to measure: "
        "the program with GLIBC_TUNABLES=glibc.malloc.hugetlb=1.",
        in_bytes(p.largest_peak));
  if (p.largest_peak < many_bytes)
    return fmt::format("page policy: change nothing: {} at the peak are {}.", in_bytes(p.largest_peak),
                       in_words(p.largest_peak / advice_page_bytes + 1, "page"));
  const std::string mapped = p.mapped_blocks == 0
                                 ? ""
                                 : fmt::format(", and {} of 128 KiB or more ({}) may be mapped again and again",
                                               in_words(p.mapped_blocks, "block"), in_bytes(p.mapped_bytes));
  return fmt::format("page policy: SIMULATED: at least {} touched for the first time{}. A trace shows no "
                     "fault; to measure: the program with GLIBC_TUNABLES=glibc.malloc.hugetlb=1, or 'ashlar run "
                     "--option huge_pages=1 -- PROG', and with populate=1.",
                     in_words(p.largest_peak / advice_page_bytes, "page is", "pages are"), mapped);
}

std::string amounts_text(const advised_site& s, const advice& a) {
  const site_features& f = *s.features;
  const std::string container = s.request.container.empty() ? "" : ", for " + s.request.container;
  return fmt::format("{} of the allocations, {}{}{}; at most {} alive, {}, and {} of the program's peak.",
                     part_of(f.allocated.objects, a.features.allocated.objects), sizes_text(f), container,
                     through_text(s), in_words(f.peak_objects), in_bytes(f.peak_bytes),
                     part_of(f.at_program_peak.bytes, a.features.peak.bytes));
}

std::string advice_text(const advice& a, const call_tree& tree, std::size_t top) {
  std::string text = a.measurement.text.empty() ? "" : a.measurement.text + "\n";
  text += heading(a);
  if (a.features.allocated.objects == 0) return text + "\nNo allocation was recorded: there is nothing to advise.\n";
  if (a.measurement.text.empty())
    text += "\nWithout a change of code\n" + paragraph(malloc_remedy(a), "  - ") + paragraph(page_remedy(a), "  - ");
  const auto first =
      static_cast<std::size_t>(std::find_if(a.sites.begin(), a.sites.end(), is_unchanged) - a.sites.begin());
  text += "\n" + paragraph("By call site: " + proposals_text(a, "")) + paragraph(a.order);
  if (first != 0) text += paragraph(estimate_note);
  for (std::size_t i = 0; i < std::min(first, top); ++i) text += site_text(i + 1, a.sites[i], a, tree);
  if (first > top) text += fmt::format("\n     and {} more behind them; --top shows them\n", in_words(first - top));
  return text + unchanged_text(std::span(a.sites).subspan(first), a, tree, top);
}

std::string missing_stacks(const stack_counts& counts) {
  if (counts.without * 100 <= counts.allocations) return "";
  return effect_of(counts) + ": " + cause_of(counts) + ".";
}

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
          {"resident_peak_bytes", or_null(a.resident_peak)},
          {"own_allocator", own_allocator_json(a.own)},
          {"processes", a.processes},
          {"choice", or_null(a.choice)},
          {"measurement", a.measurement.data},
          {"not_measured", or_null(a.not_measured)},
          {"plan", plan_json(a)},
          {"no_plan", or_null(a.no_plan)},
          {"order", or_null(a.order)},
          {"sites", sites}};
}

}  // namespace ashlar::cli
