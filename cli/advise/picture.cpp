// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fills the page: sites, timeline, lanes, pages kept, and what is never freed.
#include "cli/advise/picture.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "cli/advise/call_graph.hpp"
#include "cli/advise/titles.hpp"
#include "cli/advise/words.hpp"
#include "cli/routes/plan_text.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t most_layers = 9;
constexpr std::size_t most_pins = 8;
constexpr std::size_t most_leftovers = 12;
constexpr std::size_t most_details = 1000;  // sites with sentences
constexpr std::size_t most_proposals = 3;
constexpr std::uint64_t least_pages = 16;

std::array<std::uint64_t, page_site::lifetime_classes> lifetime_classes(const site_features& f) {
  std::array<std::uint64_t, page_site::lifetime_classes> classes{};
  f.lifetime_ns.for_each([&](std::uint64_t least, std::uint64_t, std::uint64_t n) {
    std::size_t at = 0;
    for (std::uint64_t edge = 100; at + 1 < classes.size() && least >= edge; edge *= 10) ++at;
    classes[at] += n;
  });
  return classes;
}

page_detail detail_of(const advised_site& s, const advice& a, const call_tree& tree, site_names& names) {
  page_detail d{.evidence = s.evidence,
                .advice = remedy_text(s, a.limits),
                .gain = gain_text(s, a),
                .amounts = amounts_text(s, a),
                .chain = {}};
  for (const std::uint64_t frame : tree.frames(tree.nodes()[s.node].stack))
    for (const source_place& place : names.places(frame)) d.chain.push_back(place.str());
  return d;
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

page_site site_of_page(const advised_site& s, const call_tree& tree, site_names& names) {
  const site_features& f = *s.features;
  const source_place& place = s.request.place;
  page_site site;
  site.function = place.function.empty() ? site_title(s, tree) : place.function;
  site.file = place.line == 0 ? place.module : place.file;
  site.line = place.line != 0 ? place.line : -static_cast<std::int64_t>(offset_of(s, tree, names));
  const std::string offset = "at " + address_text(place.module, static_cast<std::uint64_t>(-site.line));
  if (const std::string mark = site_distinction(s); !place.function.empty() && mark != offset) site.distinction = mark;
  site.container = s.request.container;
  site.remedy = facts_of(s.rule->proposes).name;
  site.words = facts_of(s.rule->proposes).words;
  site.rule = s.rule->name;
  site.estimate_ns = s.estimate;
  site.allocated = f.allocated;
  site.peak = {f.peak_objects, f.peak_bytes};
  site.never_freed = f.never_freed;
  site.at_program_peak = f.at_program_peak.bytes;
  site.median_bytes = f.sizes.quantile(0.5);
  site.median_life_ns = f.freed == 0 ? 0 : std::max<std::uint64_t>(f.lifetime_ns.quantile(0.5), 1);
  site.temporary = f.temporary;
  site.lifetimes = lifetime_classes(f);
  return site;
}

/// Returns: the live bytes of some sites in each bin. `row_of` leads a site to its row; others have none.
std::vector<std::vector<std::uint64_t>> series_of(const live_history& history, const std::vector<std::size_t>& site_of,
                                                  const std::unordered_map<std::size_t, std::size_t>& row_of) {
  std::vector<std::uint64_t> live(row_of.size());
  std::vector<std::vector<std::uint64_t>> rows(row_of.size());
  for (const live_history::bin& bin : history.bins()) {
    for (const live_history::change& c : bin.changes)
      if (const auto at = row_of.find(site_of[c.stack]); at != row_of.end())
        live[at->second] += static_cast<std::uint64_t>(c.bytes);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(live[i]);
  }
  return rows;
}

/// Returns: the first of `indices` by `key`, the greatest first, without those whose key is 0.
std::vector<std::size_t> greatest(std::size_t count, std::size_t most, const std::function<double(std::size_t)>& key) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < count; ++i)
    if (const double value = key(i); value > 0) order.emplace_back(-value, i);
  std::ranges::sort(order);
  order.resize(std::min(order.size(), most));
  std::vector<std::size_t> first;
  for (const auto& [value, i] : order) first.push_back(i);
  return first;
}

std::unordered_map<std::size_t, std::size_t> rows_of(const std::vector<std::size_t>& sites) {
  std::unordered_map<std::size_t, std::size_t> rows;
  for (std::size_t i = 0; i < sites.size(); ++i) rows[sites[i]] = i;
  return rows;
}

/// Returns: for each site the greater of two shares: of the live bytes over time, and of those at the peak.
std::vector<double> prominence(const live_history& history, const std::vector<std::size_t>& site_of,
                               std::size_t sites) {
  std::vector<std::uint64_t> live(sites + 1);
  std::vector<double> area(sites + 1), at_peak(sites + 1);
  double whole = 0, peak = 0;
  for (const live_history::bin& bin : history.bins()) {
    for (const live_history::change& c : bin.changes) live[site_of[c.stack]] += static_cast<std::uint64_t>(c.bytes);
    const auto bytes = static_cast<double>(bin.bytes);
    whole += bytes;
    for (std::size_t i = 0; i < sites; ++i) area[i] += static_cast<double>(live[i]);
    if (bytes <= peak) continue;
    peak = bytes;
    std::ranges::copy(live, at_peak.begin());
  }
  for (std::size_t i = 0; i < sites; ++i)
    area[i] = std::max(whole == 0 ? 0 : area[i] / whole, peak == 0 ? 0 : at_peak[i] / peak);
  area.resize(sites);
  return area;
}

page_timeline timeline_of(const live_history& history, const std::vector<std::size_t>& site_of, std::size_t sites) {
  page_timeline t;
  t.bin_ns = history.bin_ns();
  t.ends = history.ends();
  for (const live_history::bin& bin : history.bins()) t.bytes.push_back(bin.bytes);
  const std::vector<double> shares = prominence(history, site_of, sites);
  const auto first = greatest(sites, most_layers, [&](std::size_t i) { return shares[i] >= 0.005 ? shares[i] : 0; });
  auto rows = series_of(history, site_of, rows_of(first));
  for (std::size_t i = 0; i < first.size(); ++i) t.layers.emplace_back(first[i], std::move(rows[i]));
  return t;
}

std::string lane_title(std::uint32_t id, const std::string& name) {
  return name.empty() ? fmt::format("thread {}", id) : fmt::format("{} {}", id, name);
}

page_lanes lanes_of(const lane_history& history, std::uint32_t threads) {
  page_lanes lanes;
  lanes.bin_ns = history.bin_ns();
  for (const auto& [id, lane] : history.threads()) lanes.threads.push_back({lane_title(id, lane.name), lane.counts});
  for (const auto& [key, lane] : history.spans()) {
    const auto thread = history.threads().find(key.first);
    const std::string name = thread == history.threads().end() ? "" : thread->second.name;
    lanes.spans.push_back({lane_title(key.first, name), key.second, lane.spans, lane.total_ns, lane.covered_ns});
  }
  if (threads > lanes.threads.size() && lanes.threads.size() == lane_history::most_threads)
    lanes.note = fmt::format("Shown are the first {} of {}. ", lanes.threads.size(), counted(threads, "thread"));
  if (history.spans_left_out() != 0)
    lanes.note +=
        in_words(history.spans_left_out(), "span of a further name is", "spans of further names are") + " left out.";
  return lanes;
}

page_pins pins_of(std::size_t site, const advice& a) {
  const site_features& f = *a.sites[site].features;
  page_pins pins{.site = site, .needed = f.peak_bytes / advice_page_bytes + 1};
  pins.long_lived = static_cast<double>(long_lived(f, a.limits)) / static_cast<double>(f.allocated.objects);
  // As many of the pages as of the objects at once: pages of other times are free.
  const double at_once = static_cast<double>(f.peak_objects) / static_cast<double>(f.allocated.objects);
  const auto spread = static_cast<std::uint64_t>(static_cast<double>(f.spread_pages) * at_once);
  pins.kept = std::max(pins.needed, std::min(pinned_pages(f, a.features), spread));
  return pins;
}

std::vector<page_pins> pins(const advice& a) {
  std::vector<page_pins> all;
  const auto excess = [&](std::size_t i) -> double {
    const page_pins p = pins_of(i, a);
    const bool counts = p.long_lived >= 0.5 && p.kept >= least_pages && p.kept >= 2 * p.needed;
    return counts ? static_cast<double>(p.kept - p.needed) : 0;
  };
  for (const std::size_t i : greatest(a.sites.size(), most_pins, excess)) all.push_back(pins_of(i, a));
  return all;
}

std::vector<page_leftover> leftovers_of(const advice& a, const live_history& history,
                                        const std::vector<std::size_t>& site_of) {
  const auto bytes = [&](std::size_t i) { return static_cast<double>(a.sites[i].features->never_freed.bytes); };
  const auto first = greatest(a.sites.size(), most_leftovers, bytes);
  const auto rows = series_of(history, site_of, rows_of(first));
  std::vector<page_leftover> all;
  for (std::size_t i = 0; i < first.size(); ++i) {
    page_leftover left{.site = first[i], .live = {}, .words = {}};
    const std::size_t parts = std::min(page_timeline::shape_bins, rows[i].size());
    for (std::size_t part = 1; part <= parts; ++part) left.live.push_back(rows[i][part * rows[i].size() / parts - 1]);
    all.push_back(std::move(left));
  }
  return all;
}

std::vector<fact_tile> facts(const advice& a) {
  const program_features& p = a.features;
  const auto runs = std::max<std::uint64_t>(p.traces, 1);
  const double calls_ns = static_cast<double>(p.allocated.objects) * a.limits.pair_ns / static_cast<double>(runs);
  const auto bytes_of = [](const study::amount& n) { return in_words(n.objects, "object"); };
  return {{"recorded", human_time(static_cast<double>(p.duration_ns)), in_words(p.events, "event")},
          {"allocated", in_bytes(p.allocated.bytes), bytes_of(p.allocated)},
          {"peak", in_bytes(p.largest_peak), p.traces == 1 ? bytes_of(p.peak) : "of one trace"},
          {"alive at the end", in_bytes(p.never_freed.bytes), bytes_of(p.never_freed)},
          {"threads", in_words(p.threads), in_words(p.freed_by_others, "free across", "frees across")},
          {"estimate for all calls", human_time(calls_ns),
           a.limits.program_ns > 0 ? percent(calls_ns, a.limits.program_ns) + " of the program"
                                   : fmt::format("{:.0f} ns a pair", a.limits.pair_ns)}};
}

std::string summary_of(const advice& a, std::size_t remedies) {
  if (a.features.allocated.objects == 0) return "No allocation was recorded: there is nothing to advise.";
  if (a.sites.empty()) return "The trace has no call sites to advise on.";
  if (remedies == 0) return fmt::format("Change nothing at {}.", in_words(a.sites.size(), "call site"));
  return fmt::format("{} of {} {} a remedy to try.", in_words(remedies), in_words(a.sites.size(), "call site"),
                     remedies == 1 ? "has" : "have");
}

/// Returns: the text behind `beginning`, which is wrapped in it at any blank.
std::string text_behind(const std::string& text, const std::string& beginning) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < beginning.size() && at < text.size(); ++i, ++at) {
    const bool both_blank = beginning[i] == ' ' && (text[at] == '\n' || text[at] == ' ');
    if (!both_blank && text[at] != beginning[i]) return text;
  }
  return text.substr(std::min(text.find_first_not_of(" \n", at), text.size()));
}

/// Effects: the measured verdict becomes the headline. The first paragraph of its text begins with it.
void set_measured(advice_page& page, const advice_measurement& measured) {
  const std::size_t end = std::min(measured.text.find("\n\n"), measured.text.size());
  std::string first = measured.text.substr(0, end);
  std::string sentence = first;
  std::ranges::replace(sentence, '\n', ' ');
  sentence = measured.data.value("sentence", sentence);
  page.use = text_behind(first, sentence);
  page.measured = measured.text.substr(std::min(measured.text.find_first_not_of('\n', end), measured.text.size()));
  page.effects = measured_bars(measured.data);
  page.summary = std::exchange(page.headline, sentence);
}

void set_verdict(advice_page& page, const advice& a, const call_tree& tree) {
  const auto has_remedy = [](const advised_site& s) { return s.rule->proposes != remedy::nothing; };
  const auto remedies = static_cast<std::size_t>(std::ranges::count_if(a.sites, has_remedy));
  for (const advised_site& s : std::span(a.sites).first(std::min(remedies, most_proposals)))
    page.proposals.push_back(
        {site_title(s, tree), std::string(facts_of(s.rule->proposes).name), remedy_text(s, a.limits), gain_text(s, a)});
  page.headline = summary_of(a, remedies);
  if (!a.measurement.text.empty()) set_measured(page, a.measurement);
}

}  // namespace

std::vector<std::size_t> sites_of_stacks(const std::vector<advised_site>& sites, const call_tree& tree) {
  std::unordered_map<std::uint32_t, std::size_t> by_node;
  for (std::size_t i = 0; i < sites.size(); ++i) by_node[sites[i].node] = i;
  std::vector<std::size_t> all(tree.stack_count() + std::size_t{1}, sites.size());
  for (std::uint32_t stack = 1; stack < all.size(); ++stack)
    for (const std::uint32_t node : tree.levels(stack))
      if (const auto at = by_node.find(node); at != by_node.end()) all[stack] = at->second;
  return all;
}

std::vector<bar_row> measured_bars(const nlohmann::json& measurement) {
  std::vector<bar_row> rows;
  for (const auto& remedy : measurement.value("remedies", nlohmann::json::array())) {
    if (remedy.contains("failure")) continue;
    const auto& effect = remedy.at("measures").at(measurement.value("metric", "cpu_ms"));
    if (effect.at("pairs") < 2) continue;  // no interval
    const spread ratio{effect.at("ratio"), effect.at("interval").at(0), effect.at("interval").at(1)};
    rows.push_back({remedy.at("name"), effect.at("takes") == "less" ? "own" : "rival", ratio});
  }
  std::ranges::sort(rows, {}, [](const bar_row& row) { return row.value.median; });
  if (!rows.empty()) rows.insert(rows.begin(), {"the program as it is", "baseline", {1, 1, 1}});
  return rows;
}

advice_page make_advice_page(const advice& a, const call_tree& tree, site_names& names, const page_history& history) {
  advice_page page;
  page.program = a.program.empty() ? a.traces.front() : a.program;
  page.warnings = a.warnings;
  page.facts = facts(a);
  page.pair_ns = a.limits.pair_ns;
  page.program_ns = a.limits.program_ns;
  set_verdict(page, a, tree);
  add_plan(page, a);
  page.order = a.order.empty() ? "Those with a remedy first, by the time of their calls." : a.order;
  if (a.features.allocated.objects != 0 && a.measurement.text.empty())
    page.no_code = {malloc_remedy(a), page_remedy(a)};
  for (const advised_site& s : a.sites) {
    page.sites.push_back(site_of_page(s, tree, names));
    if (page.sites.size() <= most_details) page.sites.back().detail = detail_of(s, a, tree, names);
  }
  const auto site_of = sites_of_stacks(a.sites, tree);
  page.timeline = timeline_of(history.live, site_of, a.sites.size());
  page.lanes = lanes_of(history.lanes, a.features.threads);
  page.calls = call_graph(tree, history.live, names);
  page.pins = pins(a);
  page.leftovers = leftovers_of(a, history.live, site_of);
  page.ending = ending_words(a, history.cut_short, page.leftovers, page.sites);
  return page;
}

}  // namespace ashlar::cli
