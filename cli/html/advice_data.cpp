// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The data of the page of advice in columns, with each name once, within a budget of bytes.
#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include <ashlar/study/histogram.hpp>

#include "cli/html/advice_page.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

constexpr std::size_t longest_name = 240;           // bytes
constexpr std::size_t most_data_bytes = 1'895'000;  // beside style, script and text

/// What the data may hold; less until it is small enough.
struct data_budget {
  std::size_t sites = most_page_sites;
  std::size_t whole_sites = 4000;      ///< Those with all columns.
  std::size_t name_bytes = 480'000;    ///< Of all names together.
  std::size_t detail_bytes = 220'000;  ///< Of all sentences.

  void shrink() {
    detail_bytes = detail_bytes / 2;
    name_bytes = std::max<std::size_t>(name_bytes * 3 / 4, 300'000);
    whole_sites = whole_sites / 2;
    if (whole_sites < 1000) sites = sites * 7 / 8;
  }

  /// Effects: shrinks until a text that had `bytes` may fit, where each step is taken to save as much as it can.
  void shrink_from(std::size_t bytes) {
    constexpr std::size_t whole_site_bytes = 96;  // of the columns that the other sites lack
    const data_budget old = *this;
    std::size_t saved = 0;
    do {
      shrink();
      saved = old.detail_bytes - detail_bytes + old.name_bytes - name_bytes +
              (old.whole_sites - whole_sites) * whole_site_bytes + bytes * (old.sites - sites) / old.sites;
    } while (bytes - std::min(bytes, saved) > most_data_bytes && is_large());
  }
  [[nodiscard]] bool is_large() const { return sites > 100; }
};

/// Returns: at most `most` bytes of the text, cut between characters in the middle, as names differ at both ends.
std::string cut(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto is_within = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  std::size_t head = most * 2 / 3, tail = text.size() - (most - head);
  while (head != 0 && is_within(head)) --head;
  while (tail < text.size() && is_within(tail)) ++tail;
  return text.substr(0, head) + "…" + text.substr(tail);
}

/// Each text once. All are cut to the length at which they fit.
class name_column {
public:
  std::size_t add(const std::string& text) {
    const auto [at, is_new] = ids_.try_emplace(text, all_.size());
    if (is_new) all_.push_back({&at->first, written_bytes(text)});
    return at->second;
  }

  [[nodiscard]] json to_json(std::size_t budget) const {
    std::size_t length = longest_name;
    while (length > 12 && bytes_at(length) > budget) length = length * 7 / 8;
    json texts = json::array();
    for (const name& each : all_) texts.push_back(cut(*each.text, length));
    return texts;
  }

private:
  struct name {
    const std::string* text;
    std::size_t written;  ///< Bytes in the file, with escapes.
  };

  static std::size_t written_bytes(const std::string& text) {
    return json(text).dump(-1, ' ', false, json::error_handler_t::replace).size() + 1;
  }

  [[nodiscard]] std::size_t bytes_at(std::size_t length) const {
    std::size_t sum = 0;
    for (const name& each : all_)
      sum += each.text->size() <= length ? each.written : each.written * length / each.text->size();
    return sum;
  }

  std::unordered_map<std::string, std::size_t> ids_;
  std::vector<name> all_;
};

/// Returns: a digit of base 36 for each part, by its share of the greatest; "0" is none at all.
template <class Parts>
std::string shape_of(const Parts& parts) {
  static constexpr char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  const std::uint64_t most = parts.empty() ? 0 : *std::max_element(parts.begin(), parts.end());
  std::string shape;
  for (const std::uint64_t part : parts) {
    const double height = most == 0 ? 0 : std::ceil(35.0 * static_cast<double>(part) / static_cast<double>(most));
    shape += digits[static_cast<std::size_t>(height)];
  }
  shape.resize(shape.find_last_not_of('0') + 1);
  return shape;
}

/// Returns: one column of the sites.
template <class F>
json site_column(const advice_page& page, std::size_t most, F&& of) {
  json values = json::array();
  for (std::size_t i = 0; i < std::min(page.sites.size(), most); ++i) values.push_back(of(page.sites[i]));
  return values;
}

/// Returns: the quarter of an octave of the median lifetime; -1 without one.
std::int64_t life_bucket(const page_site& s) {
  if (s.median_life_ns == 0) return -1;
  return static_cast<std::int64_t>(study::histogram<2>::bucket_of(s.median_life_ns));
}

/// Returns: a text of each site by another.
json texts_by(const advice_page& page, std::string page_site::* key, std::string page_site::* text) {
  json all = json::object();
  for (const page_site& s : page.sites) all[s.*key] = s.*text;
  return all;
}

json sites_json(const advice_page& page, const data_budget& budget, name_column& names) {
  const std::size_t all = budget.sites, whole = budget.whole_sites;
  json estimates = json::array();  // where the estimate is not of all calls
  for (std::size_t i = 0; i < std::min(page.sites.size(), all); ++i) {
    const page_site& s = page.sites[i];
    const double of_calls = static_cast<double>(s.allocated.objects) * page.pair_ns;
    if (std::abs(of_calls - s.estimate_ns) > 1) estimates.push_back({i, std::llround(s.estimate_ns)});
  }
  return {{"function", site_column(page, all, [&](const page_site& s) { return names.add(s.function); })},
          {"file", site_column(page, all, [&](const page_site& s) { return names.add(s.file); })},
          {"line", site_column(page, all, [](const page_site& s) { return s.line; })},
          {"container", site_column(page, all, [&](const page_site& s) { return names.add(s.container); })},
          {"distinction", site_column(page, all, [&](const page_site& s) { return names.add(s.distinction); })},
          {"rule", site_column(page, all, [&](const page_site& s) { return names.add(s.rule); })},
          {"objects", site_column(page, all, [](const page_site& s) { return s.allocated.objects; })},
          {"bytes", site_column(page, all, [](const page_site& s) { return s.allocated.bytes; })},
          {"peakObjects", site_column(page, whole, [](const page_site& s) { return s.peak.objects; })},
          {"peakBytes", site_column(page, all, [](const page_site& s) { return s.peak.bytes; })},
          {"atPeak", site_column(page, whole, [](const page_site& s) { return s.at_program_peak; })},
          {"neverObjects", site_column(page, whole, [](const page_site& s) { return s.never_freed.objects; })},
          {"neverBytes", site_column(page, all, [](const page_site& s) { return s.never_freed.bytes; })},
          {"size", site_column(page, all, [](const page_site& s) { return s.median_bytes; })},
          {"life", site_column(page, all, [](const page_site& s) { return life_bucket(s); })},
          {"temporary", site_column(page, whole, [](const page_site& s) { return s.temporary; })},
          {"lives", site_column(page, whole, [](const page_site& s) { return shape_of(s.lifetimes); })},
          {"estimates", std::move(estimates)},
          {"remedies", texts_by(page, &page_site::rule, &page_site::remedy)},
          {"words", texts_by(page, &page_site::remedy, &page_site::words)},
          {"all", page.sites.size()}};
}

/// Returns: the sentences of the first sites, as many as fit.
json details_json(const advice_page& page, const data_budget& budget, name_column& names) {
  json all = json::array();
  std::size_t left = budget.detail_bytes;
  for (const page_site& site : page.sites) {
    const page_detail& d = site.detail;
    if (d.evidence.empty() || all.size() == budget.sites) break;
    json chain = json::array();
    json row = {cut(d.amounts, 1000), cut(d.evidence, 1000), cut(d.advice, 1000), cut(d.gain, 1000)};
    std::size_t bytes = 32 + 6 * d.chain.size();
    for (const json& text : row) bytes += text.get_ref<const std::string&>().size();
    if (bytes > left) break;
    left -= bytes;
    for (const std::string& call : d.chain) chain.push_back(names.add(call));
    row.push_back(std::move(chain));
    all.push_back(std::move(row));
  }
  return all;
}

json timeline_json(const page_timeline& t) {
  json layers = json::array();
  for (const auto& [site, bytes] : t.layers) layers.push_back({{"site", site}, {"bytes", bytes}});
  return {{"bin", t.bin_ns}, {"bytes", t.bytes}, {"ends", t.ends}, {"layers", std::move(layers)}};
}

json lanes_json(const page_lanes& lanes) {
  json threads = json::array(), spans = json::array();
  for (const page_lanes::thread& t : lanes.threads)
    threads.push_back({{"name", cut(t.name, longest_name)}, {"counts", shape_of(t.counts)}});
  for (const page_lanes::span& s : lanes.spans) {
    json shares = json::array();
    for (const std::uint64_t ns : s.covered_ns) shares.push_back(std::min<std::uint64_t>(100, 100 * ns / lanes.bin_ns));
    spans.push_back({{"thread", cut(s.thread, longest_name)},
                     {"name", cut(s.name, longest_name)},
                     {"spans", s.spans},
                     {"total", s.total_ns},
                     {"shares", std::move(shares)}});
  }
  return {{"bin", lanes.bin_ns}, {"threads", std::move(threads)}, {"spans", std::move(spans)}, {"note", lanes.note}};
}

json calls_json(const page_calls& tree, name_column& names) {
  json parents = json::array(), name = json::array(), amounts = json::array(), changes = json::array();
  for (const page_call& c : tree.calls) {
    parents.push_back(c.parent);
    name.push_back(names.add(c.name));
    for (const study::amount& a : {c.allocated, c.temporary, c.never_freed}) {
      amounts.push_back(a.objects);
      amounts.push_back(a.bytes);
    }
  }
  for (const auto& bin : tree.changes) {
    json flat = json::array();
    for (const auto& [call, bytes] : bin) {
      flat.push_back(call);
      flat.push_back(bytes);
    }
    changes.push_back(std::move(flat));
  }
  return {{"parent", std::move(parents)},
          {"name", std::move(name)},
          {"amounts", std::move(amounts)},
          {"changes", std::move(changes)}};
}

json pins_json(const advice_page& page) {
  json rows = json::array();
  for (const page_pins& p : page.pins)
    rows.push_back({{"site", p.site}, {"kept", p.kept}, {"needed", p.needed}, {"long", p.long_lived}});
  return rows;
}

json leftovers_json(const advice_page& page) {
  json rows = json::array();
  for (const page_leftover& l : page.leftovers)
    rows.push_back({{"site", l.site},
                    {"objects", page.sites[l.site].never_freed.objects},
                    {"bytes", page.sites[l.site].never_freed.bytes},
                    {"live", shape_of(l.live)},
                    {"words", l.words}});
  return rows;
}

std::string data_text(const advice_page& page, const data_budget& budget) {
  name_column names;
  names.add("");  // the most frequent ones first: their numbers are short
  for (const page_site& s : page.sites) names.add(s.rule);
  json data = {{"pairNs", page.pair_ns},
               {"programNs", page.program_ns},
               {"sites", sites_json(page, budget, names)},
               {"details", details_json(page, budget, names)},
               {"timeline", timeline_json(page.timeline)},
               {"lanes", lanes_json(page.lanes)},
               {"calls", calls_json(page.calls, names)},
               {"pins", pins_json(page)},
               {"leftovers", leftovers_json(page)}};
  data["names"] = names.to_json(budget.name_bytes);
  const std::string text = data.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string safe;  // without "</script" and "<!--"
  safe.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_markup = text[i] == '<' && (text[i + 1] == '/' || text[i + 1] == '!');
    if (is_markup) safe += "\\u003c";
    else safe += text[i];
  }
  return safe;
}

}  // namespace

std::string advice_page_data(const advice_page& page) {
  data_budget budget;
  std::string text = data_text(page, budget);
  while (text.size() > most_data_bytes && budget.is_large()) {
    budget.shrink_from(text.size());
    text = data_text(page, budget);
  }
  return text;
}

}  // namespace ashlar::cli
