// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fills the page: verdict, plan, sites, timeline, lanes, pages kept, and what is never freed.
#include "cli/advise/advice.hpp"

#include <fmt/format.h>

#include "cli/html/page.hpp"
#include "cli/rounds/effect.hpp"
#include "cli/routes/plan.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

constexpr std::size_t most_layers = 9;
constexpr std::size_t most_pins = 8;
constexpr std::size_t most_leftovers = 12;
constexpr std::size_t most_details = 1000;  // sites with sentences
constexpr std::size_t most_proposals = 3;
constexpr std::size_t most_group_name = 60, most_plan_text = 160;
constexpr std::uint64_t least_pages = 16;

/// Returns: the sentences of a site, and its calls with their lines of source, innermost first.
json detail_of(const json& site, const advised_site& s, const advice& a, const call_tree& tree, site_names& names) {
  json chain = json::array();
  for (const std::uint64_t frame : tree.frames(tree.nodes()[s.node].stack))
    for (const source_place& place : names.places(frame)) {
      chain.push_back(place.str());
      chain.push_back(names.code(place));
    }
  return {amounts_text(s, a), site.at("evidence"), site.at("proposal"), site.at("gain").at("text"), std::move(chain)};
}

/// Effects: calls `f(bin, live)` for each bin with the live bytes of each site in it. `site_of`: by stack; the last
/// site stands for no site.
template <class F>
void for_each_bin(const live_history& history, const std::vector<std::size_t>& site_of, std::size_t sites, F&& f) {
  std::vector<std::uint64_t> live(sites + 1);
  for (const live_history::bin& bin : history.bins()) {
    for (const live_history::change& c : bin.changes) live[site_of[c.stack]] += static_cast<std::uint64_t>(c.bytes);
    f(bin, live);
  }
}

std::vector<std::vector<std::uint64_t>> series_of(const live_history& history, const std::vector<std::size_t>& site_of,
                                                  std::size_t sites, const std::vector<std::size_t>& some) {
  std::vector<std::vector<std::uint64_t>> rows(some.size());
  for_each_bin(history, site_of, sites, [&](const live_history::bin&, const std::vector<std::uint64_t>& live) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(live[some[i]]);
  });
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

/// Returns: for each site the greater of two shares: of the live bytes over time, and of those at the peak.
std::vector<double> prominence(const live_history& history, const std::vector<std::size_t>& site_of,
                               std::size_t sites) {
  std::vector<double> area(sites), at_peak(sites);
  double whole = 0, peak = 0;
  for_each_bin(history, site_of, sites, [&](const live_history::bin& bin, const std::vector<std::uint64_t>& live) {
    const auto bytes = static_cast<double>(bin.bytes);
    whole += bytes;
    for (std::size_t i = 0; i < sites; ++i) area[i] += static_cast<double>(live[i]);
    if (bytes <= peak) return;
    peak = bytes;
    std::copy_n(live.begin(), sites, at_peak.begin());
  });
  for (std::size_t i = 0; i < sites; ++i)
    area[i] = std::max(whole == 0 ? 0 : area[i] / whole, peak == 0 ? 0 : at_peak[i] / peak);
  return area;
}

json timeline_of(const live_history& history, const std::vector<std::size_t>& site_of, std::size_t sites) {
  json bytes = json::array(), layers = json::array();
  for (const live_history::bin& bin : history.bins()) bytes.push_back(bin.bytes);
  const std::vector<double> shares = prominence(history, site_of, sites);
  const auto first = greatest(sites, most_layers, [&](std::size_t i) { return shares[i] >= 0.005 ? shares[i] : 0; });
  const auto rows = series_of(history, site_of, sites, first);
  for (std::size_t i = 0; i < first.size(); ++i) layers.push_back({{"site", first[i]}, {"bytes", rows[i]}});
  return {{"bin", history.bin_ns()}, {"bytes", bytes}, {"ends", history.ends()}, {"layers", layers}};
}

std::string lane_title(std::uint32_t id, const std::string& name) {
  return name.empty() ? fmt::format("thread {}", id) : fmt::format("{} {}", id, name);
}

json lanes_of(const lane_history& history, std::uint32_t all_threads) {
  constexpr std::size_t longest_name = 240;
  json threads = json::array(), spans = json::array();
  for (const auto& [id, lane] : history.threads())
    threads.push_back({{"name", shorten(lane_title(id, lane.name), longest_name)}, {"counts", shape_of(lane.counts)}});
  for (const auto& [key, lane] : history.spans()) {
    const auto thread = history.threads().find(key.first);
    const std::string name = thread == history.threads().end() ? "" : thread->second.name;
    json shares = json::array();
    for (const std::uint64_t ns : lane.covered_ns)
      shares.push_back(std::min<std::uint64_t>(100, 100 * ns / history.bin_ns()));
    spans.push_back({{"thread", shorten(lane_title(key.first, name), longest_name)},
                     {"name", shorten(key.second, longest_name)},
                     {"spans", lane.spans},
                     {"total", lane.total_ns},
                     {"shares", std::move(shares)}});
  }
  std::string note;
  if (all_threads > threads.size() && threads.size() == lane_history::most_threads)
    note = fmt::format("Shown are the first {} of {}. ", threads.size(), counted(all_threads, "thread"));
  if (history.spans_left_out() != 0)
    note +=
        in_words(history.spans_left_out(), "span of a further name is", "spans of further names are") + " left out.";
  return {{"bin", history.bin_ns()}, {"threads", threads}, {"spans", spans}, {"note", note}};
}

struct kept_pages {
  std::uint64_t kept = 0;    ///< Pages that its live objects would lie on.
  std::uint64_t needed = 0;  ///< Pages that its objects would fill.
  double long_lived = 0;     ///< Share of its objects.
};

kept_pages pages_of(const site_features& f, const advice& a) {
  const auto objects = static_cast<double>(f.allocated.objects);
  kept_pages p{.needed = f.peak_bytes / advice_page_bytes + 1,
               .long_lived = static_cast<double>(long_lived(f, a.limits)) / objects};
  // As many of the pages as of the objects at once: pages of other times are free.
  const double at_once = static_cast<double>(f.peak_objects) / objects;
  const auto spread = static_cast<std::uint64_t>(static_cast<double>(f.spread_pages) * at_once);
  p.kept = std::max(p.needed, std::min(pinned_pages(f, a.features), spread));
  return p;
}

json pins_of(const advice& a) {
  json all = json::array();
  const auto excess = [&](std::size_t i) -> double {
    const kept_pages p = pages_of(*a.sites[i].features, a);
    const bool counts = p.long_lived >= 0.5 && p.kept >= least_pages && p.kept >= 2 * p.needed;
    return counts ? static_cast<double>(p.kept - p.needed) : 0;
  };
  for (const std::size_t i : greatest(a.sites.size(), most_pins, excess)) {
    const kept_pages p = pages_of(*a.sites[i].features, a);
    all.push_back({{"site", i}, {"kept", p.kept}, {"needed", p.needed}, {"long", p.long_lived}});
  }
  return all;
}

enum class growth { none, early, middle, late };

/// Returns: when the live bytes grew to the live bytes of the end, by the quarters of the run.
growth growth_of(const std::vector<std::uint64_t>& live, std::uint64_t at_end) {
  if (live.size() < 4) return growth::none;
  const auto end = static_cast<double>(at_end);
  if (static_cast<double>(live[live.size() / 4]) >= 0.95 * end) return growth::early;
  return static_cast<double>(live[live.size() * 3 / 4]) <= 0.9 * end ? growth::late : growth::middle;
}

constexpr detail::enum_table<growth, const char*> since_words = {
    "", "; as much was alive after a quarter of the run: kept, not growing",
    "; it grew until the last quarter of the run", "; it still grew in the last quarter of the run"};

/// Sites whose objects are alive at the end, the most bytes first, in words.
class leftovers {
public:
  leftovers(const advice& a, const live_history& history, const std::vector<std::size_t>& site_of) : a_(a) {
    const auto bytes = [&](std::size_t i) { return static_cast<double>(left_of(i).bytes); };
    first_ = greatest(a.sites.size(), most_leftovers, bytes);
    for (const std::vector<std::uint64_t>& row : series_of(history, site_of, a.sites.size(), first_)) {
      constexpr std::size_t shape_parts = 32;
      const std::size_t parts = std::min(shape_parts, row.size());
      std::vector<std::uint64_t>& live = live_.emplace_back();
      for (std::size_t part = 1; part <= parts; ++part) live.push_back(row[part * row.size() / parts - 1]);
      grown_.push_back(growth_since(first_[live_.size() - 1], live));
    }
  }

  [[nodiscard]] json rows() const {
    json all = json::array();
    for (std::size_t i = 0; i < first_.size(); ++i)
      all.push_back({{"site", first_[i]},
                     {"objects", left_of(first_[i]).objects},
                     {"bytes", left_of(first_[i]).bytes},
                     {"live", shape_of(live_[i])},
                     {"words", some_words(first_[i]) + since_words[grown_[i]]}});
    return all;
  }

  /// Returns: how much is left, from where, since when.
  [[nodiscard]] std::vector<std::string> sentences(const json& names, bool cut_short) const {
    const program_features& p = a_.features;
    if (p.never_freed.objects == 0) return {"Every recorded object was freed."};
    std::vector<std::string> words = {
        fmt::format("When the recording ends, {} in {} alive: {} of the peak, {} of all that was allocated.",
                    in_bytes(p.never_freed.bytes), in_words(p.never_freed.objects, "object is", "objects are"),
                    part_of(p.never_freed.bytes, p.peak.bytes), part_of(p.never_freed.bytes, p.allocated.bytes))};
    if (std::string few = few_sites(names, p.never_freed.bytes); !few.empty()) words.push_back(std::move(few));
    if (const std::uint64_t early = bytes_of(growth::early); early != 0)
      words.push_back(
          fmt::format("{} is of sites that did not grow after the first quarter of the run.", in_bytes(early)));
    if (const std::uint64_t late = bytes_of(growth::late); late != 0)
      words.push_back(fmt::format("{} is of sites that still grew in the last quarter.", in_bytes(late)));
    if (cut_short)
      words.emplace_back("The trace ends before its program: what is alive here may have been freed later.");
    return words;
  }

private:
  [[nodiscard]] const study::amount& left_of(std::size_t site) const { return a_.sites[site].features->never_freed; }

  /// A single allocation, such as the buffer of standard output, does not grow.
  [[nodiscard]] growth growth_since(std::size_t site, const std::vector<std::uint64_t>& live) const {
    const growth found = a_.features.traces > 1 ? growth::none : growth_of(live, left_of(site).bytes);
    return a_.sites[site].features->allocated.objects == 1 && found != growth::early ? growth::none : found;
  }

  [[nodiscard]] std::string some_words(std::size_t site) const {
    const study::amount &left = left_of(site), &all = a_.sites[site].features->allocated;
    if (left.objects == all.objects) return "none is ever freed";
    return fmt::format("{} of {} are left, the others were freed", part_of(left.objects, all.objects),
                       in_words(all.objects));
  }

  [[nodiscard]] std::uint64_t bytes_of(growth g) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < first_.size(); ++i) sum += grown_[i] == g ? left_of(first_[i]).bytes : 0;
    return sum;
  }

  /// Returns: the few sites that most of it is from; empty if none is left. `names`: the rows of the sites.
  [[nodiscard]] std::string few_sites(const json& names, std::uint64_t all) const {
    std::uint64_t sum = 0;
    std::size_t count = 0;
    while (count < first_.size() && sum * 5 < all * 4) sum += left_of(first_[count++]).bytes;
    if (count == 0) return "";
    const json& row = names.at(first_.front());
    const std::string first = row.is_null() ? "a further site" : row.at("function").get<std::string>();
    if (count == 1) return fmt::format("{} of it is from one site, {}.", part_of(sum, all), first);
    return fmt::format("{} of it is from {}; the largest is {}.", part_of(sum, all), counted(count, "site"), first);
  }

  const advice& a_;
  std::vector<std::size_t> first_;
  std::vector<std::vector<std::uint64_t>> live_;
  std::vector<growth> grown_;
};

json facts(const advice& a) {
  const program_features& p = a.features;
  const auto runs = std::max<std::uint64_t>(p.traces, 1);
  const double calls_ns = static_cast<double>(p.allocated.objects) * a.limits.pair_ns / static_cast<double>(runs);
  const auto bytes_of = [](const study::amount& n) { return in_words(n.objects, "object"); };
  return {{"recorded", human_time(static_cast<double>(p.duration_ns)), in_words(p.events, "event")},
          {"allocated", in_bytes(p.allocated.bytes), bytes_of(p.allocated)},
          {"peak", in_bytes(p.largest_peak), p.traces == 1 ? bytes_of(p.peak) : "of one trace"},
          {"alive at the end", in_bytes(p.never_freed.bytes), bytes_of(p.never_freed)},
          {"resident peak", a.resident_peak == 0 ? "unknown" : in_bytes(a.resident_peak), "of one process"},
          {"threads", in_words(p.threads), in_words(p.freed_by_others, "free across", "frees across")},
          {"calls, estimate", human_time(calls_ns),
           a.limits.program_ns > 0 ? percent(calls_ns, a.limits.program_ns) + " of the program"
                                   : fmt::format("{:.0f} ns a pair", a.limits.pair_ns)}};
}

std::string summary_of(const advice& a, std::size_t remedies) {
  if (a.features.allocated.objects == 0) return "No allocation was recorded: there is nothing to advise.";
  if (a.sites.empty()) return "The trace has no call sites to advise on.";
  if (remedies == 0 && a.own)
    return "What malloc served is too small a part of this program to advise on: it has memory of its own.";
  if (remedies == 0) return fmt::format("Change nothing at {}.", in_words(a.sites.size(), "call site"));
  return proposals_text(a, "call site") + ".";
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

/// Returns: the effect that all groups have together; empty if each has its own, or none has one.
std::string effect_of_all(const std::vector<site_trial>& trials) {
  return trials.size() > 1 && trials.front().groups.size() == trials.size() ? trials.front().text : "";
}

/// Returns: the effect of a group; of groups that were measured together the first one has it.
std::string effect_in_plan(const advice& a, std::size_t number) {
  if (number >= a.plan_trials.size() || !effect_of_all(a.plan_trials).empty()) return "";
  const std::vector<std::size_t>& together = a.plan_trials[number].groups;
  if (together.empty() || together.front() == number) return a.plan_trials[number].text;
  return "measured with " + a.plan.groups[together.front()].name;
}

/// Effects: the measured verdict becomes the headline. The first paragraph of its text begins with it.
void set_measured(json& page, const advice_measurement& measured) {
  const std::size_t end = std::min(measured.text.find("\n\n"), measured.text.size());
  const std::string first = measured.text.substr(0, end);
  std::string sentence = first;
  std::ranges::replace(sentence, '\n', ' ');
  sentence = measured.data.value("sentence", sentence);
  page["use"] = text_behind(first, sentence);
  page["measured"] = measured.text.substr(std::min(measured.text.find_first_not_of('\n', end), measured.text.size()));
  page["effects"] = measured_bars(measured.data);
  page["summary"] = std::exchange(page["headline"], sentence);
}

void set_verdict(json& page, const advice& a, const call_tree& tree, site_names& names) {
  const auto remedies = a.sites.size() - static_cast<std::size_t>(std::ranges::count_if(a.sites, is_unchanged));
  for (const advised_site& s : std::span(a.sites).first(std::min(remedies, most_proposals)))
    page["proposals"].push_back({{"site", site_title(s, tree)},
                                 {"code", names.code(s.request.place)},
                                 {"advice", proposal_text(s, a)},
                                 {"gain", gain_text(s, a)}});
  page["headline"] = summary_of(a, remedies);
  if (!a.measurement.text.empty()) set_measured(page, a.measurement);
  else if (a.features.allocated.objects != 0) page["noCode"] = {malloc_remedy(a), page_remedy(a)};
}

}  // namespace

std::vector<std::size_t> sites_of_stacks(const std::vector<advised_site>& sites, const call_tree& tree) {
  std::unordered_map<std::uint32_t, std::size_t> by_node;
  for (std::size_t i = 0; i < sites.size(); ++i)
    for (const std::uint32_t node : sites[i].nodes()) by_node[node] = i;
  std::vector<std::size_t> all(tree.stack_count() + std::size_t{1}, sites.size());
  for (std::uint32_t stack = 1; stack < all.size(); ++stack)
    for (const std::uint32_t node : tree.levels(stack))
      if (const auto at = by_node.find(node); at != by_node.end()) all[stack] = at->second;
  return all;
}

json measured_bars(const json& measurement) {
  std::vector<json> rows;
  for (const auto& remedy : measurement.value("remedies", json::array())) {
    if (remedy.contains("failure")) continue;
    const auto& effect = remedy.at("measures").at(measurement.value("metric", "cpu_ms"));
    if (effect.at("pairs") < pairs_for_difference(1 - effect.at("confidence").get<double>())) continue;
    rows.push_back({{"name", remedy.at("name")},
                    {"style", effect.at("verdict") == verdict_word(finding::gain) ? "own" : "rival"},
                    {"median", effect.at("ratio")},
                    {"min", effect.at("interval").at(0)},
                    {"max", effect.at("interval").at(1)}});
  }
  std::ranges::sort(rows, {}, [](const json& row) { return row.at("median").get<double>(); });
  if (!rows.empty())
    rows.insert(rows.begin(),
                json{{"name", "the program as it is"}, {"style", "baseline"}, {"median", 1}, {"min", 1}, {"max", 1}});
  return json(std::move(rows));
}

void add_plan(json& page, const advice& a) {
  page["plan"] = plan_json(a);
  page["planNote"] = a.no_plan.empty() ? "" : "There is none: " + a.no_plan + ".";
  if (a.plan.groups.empty()) return;
  const site_titles titles(a.plan);
  for (std::size_t i = 0; i < a.plan.groups.size(); ++i) {
    const route_group& group = a.plan.groups[i];
    json& shown = page["plan"][i];
    shown = {{"group", shorten(group.name, most_group_name)},
             {"remedy", shorten(shown.at("remedy"), most_group_name)},
             {"titles", shorten(titles.of(group), most_plan_text)},
             {"effect", shorten(effect_in_plan(a, i), most_plan_text)},
             {"stays", shown.at("stays")},
             {"objects", advised_objects(group).value_or(0)},
             {"chunk_bytes", group.chunk_bytes},
             {"budget_bytes", group.budget_bytes}};
  }
  const std::string together = effect_of_all(a.plan_trials);
  page["planNote"] =
      (a.no_plan.empty() ? "Memory of their own for " + plan_size_text(a.plan) + ", without a change of code" +
                               (a.measurement.data.is_null() ? ", not measured" : "") +
                               ": 'ashlar advise -o PLAN' writes it, 'ashlar run --plan PLAN' follows it, 'ashlar "
                               "verify --plan PLAN' measures it. A group that pins more than its budget is given up."
                         : "None of it is left: " + a.no_plan + ".") +
      (together.empty() ? "" : " Measured: " + together + ".");
}

namespace {

/// Returns: what the reader must know first, before what is missing in the traces.
std::vector<std::string> all_warnings(const advice& a) {
  std::vector<std::string> all = a.warnings;
  if (!a.choice.empty()) all.insert(all.begin(), a.choice);
  if (a.own) all.insert(all.begin(), own_allocator_text(*a.own));
  return all;
}

}  // namespace

json make_advice_page(const advice& a, const call_tree& tree, site_names& names, const page_history& history) {
  json page = {{"program", a.program.empty() ? a.traces.front() : a.program},
               {"warnings", all_warnings(a)},
               {"facts", facts(a)},
               {"use", ""},
               {"measured", ""},
               {"effects", json::array()},
               {"summary", ""},
               {"proposals", json::array()},
               {"estimateNote", estimate_note},
               {"noCode", json::array()},
               {"pairNs", a.limits.pair_ns},
               {"order", a.order.empty() ? "Those with a remedy first, by the time of their calls." : a.order},
               {"sites", json::array()},
               {"details", json::array()},
               {"lanes", lanes_of(history.lanes, a.features.threads)},
               {"calls", call_graph(tree, history.live, names)},
               {"pins", pins_of(a)}};
  set_verdict(page, a, tree, names);
  add_plan(page, a);
  for (const advised_site& s : a.sites) {
    if (page["sites"].size() >= most_page_sites) {
      page["sites"].push_back(nullptr);  // counted alone
      continue;
    }
    const json site = site_json(s, a, tree, names);
    page["sites"].push_back(page_row(site));
    if (page["details"].size() < most_details) page["details"].push_back(detail_of(site, s, a, tree, names));
  }
  const auto site_of = sites_of_stacks(a.sites, tree);
  page["timeline"] = timeline_of(history.live, site_of, a.sites.size());
  const leftovers left(a, history.live, site_of);
  page["leftovers"] = left.rows();
  page["ending"] = left.sentences(page["sites"], history.cut_short);
  return page;
}

}  // namespace ashlar::cli
