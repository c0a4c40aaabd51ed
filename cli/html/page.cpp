// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frame of all pages, the report of a trace, a comparison, and the budget of the page of advice: its sites in
// columns, with each name once.
#include "cli/html/page.hpp"

#include <cmath>

#include "cli/replay/figures.hpp"
#include "cli/report/data.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

constexpr std::size_t longest_name = 240;        // bytes
constexpr std::size_t most_bytes = 2'000'000;    // of a page
constexpr std::size_t most_changes = 200;        // of sites since an earlier trace
constexpr std::size_t most_frame_bytes = 6'000;  // beside data, style and script

std::string utf8(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

/// Returns: the data as text that may stand in a script element: without "</script" and "<!--".
std::string script_text(const json& data) {
  const std::string text = utf8(data);
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_markup = text[i] == '<' && (text[i + 1] == '/' || text[i + 1] == '!');
    if (is_markup) safe += "\\u003c";
    else safe += text[i];
  }
  return safe;
}

/// Returns: the page, which no browser lets load anything from another place.
std::string html_page(const std::string& title, const std::string& kind, const std::string& name,
                      const std::string& body, const page_assets& assets, const std::string& data) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n"
      "<header><p>{}</p><h1>{}</h1></header>\n{}\n"
      "<noscript><p class=\"warning\">The page needs JavaScript, which is part of this file.</p></noscript>\n"
      "<footer>ashlar {}.{}.{}</footer>\n</main>\n"
      "<script type=\"application/json\" id=\"data\">{}</script>\n<script>{}</script>\n</body>\n</html>\n",
      escaped(title), assets.style, kind, escaped(name), body, ASHLAR_VERSION_MAJOR, ASHLAR_VERSION_MINOR,
      ASHLAR_VERSION_PATCH, data, assets.script);
}

/// What the page of advice may hold: halved until it is small enough.
struct page_budget {
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

  /// Effects: shrinks until a text that had `bytes` may fit in `most`, where each step is taken to save as much as it
  /// can.
  void shrink_from(std::size_t bytes, std::size_t most) {
    constexpr std::size_t whole_site_bytes = 96;  // of the columns that the other sites lack
    const page_budget old = *this;
    std::size_t saved = 0;
    do {
      shrink();
      saved = old.detail_bytes - detail_bytes + old.name_bytes - name_bytes +
              (old.whole_sites - whole_sites) * whole_site_bytes + bytes * (old.sites - sites) / old.sites;
    } while (bytes - std::min(bytes, saved) > most && is_large());
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
    if (is_new) all_.push_back({&at->first, utf8(text).size() + 1});
    return at->second;
  }
  /// Returns: the numbers of the texts.
  json add_all(const json& texts) {
    json numbers = json::array();
    for (const json& text : texts) numbers.push_back(add(text.get_ref<const std::string&>()));
    return numbers;
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

  [[nodiscard]] std::size_t bytes_at(std::size_t length) const {
    std::size_t sum = 0;
    for (const name& each : all_)
      sum += each.text->size() <= length ? each.written : each.written * length / each.text->size();
    return sum;
  }

  std::unordered_map<std::string, std::size_t> ids_;
  std::vector<name> all_;
};

/// Returns: below 100 ns, then decades, then 100 s and more.
std::vector<std::uint64_t> lifetime_classes(const json& lifetimes_ns) {
  std::vector<std::uint64_t> classes(11);
  for (const json& row : lifetimes_ns) {
    const std::uint64_t least = row.at("from");
    std::size_t at = 0;
    for (std::uint64_t edge = 100; at + 1 < classes.size() && least >= edge; edge *= 10) ++at;
    classes[at] += row.at("objects").get<std::uint64_t>();
  }
  return classes;
}

/// A column of the table of sites: of numbers of names, of values, or of values that the last sites lack.
enum class column_kind { name, value, whole };
struct page_column {
  const char* name;
  column_kind kind = column_kind::value;
};
constexpr page_column columns[] = {{"rule", column_kind::name},
                                   {"function", column_kind::name},
                                   {"file", column_kind::name},
                                   {"line"},
                                   {"container", column_kind::name},
                                   {"distinction", column_kind::name},
                                   {"objects"},
                                   {"bytes"},
                                   {"peakObjects", column_kind::whole},
                                   {"peakBytes"},
                                   {"atPeak", column_kind::whole},
                                   {"neverObjects", column_kind::whole},
                                   {"neverBytes"},
                                   {"size"},
                                   {"life"},
                                   {"temporary", column_kind::whole},
                                   {"lives", column_kind::whole}};

json sites_json(const json& page, const page_budget& budget, name_column& names) {
  const json& rows = page.at("sites");
  const std::size_t all = std::min(rows.size(), budget.sites), whole = std::min(all, budget.whole_sites);
  json table = {{"all", rows.size()},
                {"estimates", json::array()},  // where the estimate is not of all calls
                {"remedies", json::object()},
                {"words", json::object()}};
  for (const page_column& c : columns) {
    json& column = table[c.name] = json::array();
    for (std::size_t i = 0; i < (c.kind == column_kind::whole ? whole : all); ++i) {
      const json& value = rows[i].at(c.name);
      column.push_back(c.kind == column_kind::name ? json(names.add(value.get_ref<const std::string&>())) : value);
    }
  }
  const double pair_ns = page.at("pairNs");
  for (std::size_t i = 0; i < all; ++i) {
    const std::string& remedy = rows[i].at("remedy").get_ref<const std::string&>();
    table["remedies"][rows[i].at("rule").get_ref<const std::string&>()] = remedy;
    table["words"][remedy] = rows[i].at("words");
    const double estimate = rows[i].at("estimate"), of_calls = rows[i].at("objects").get<double>() * pair_ns;
    if (std::abs(of_calls - estimate) > 1) table["estimates"].push_back({i, std::llround(estimate)});
  }
  return table;
}

/// Returns: the sentences of the first sites, as many as fit, and the numbers of their calls.
json details_json(const json& page, const page_budget& budget, name_column& names) {
  json all = json::array();
  std::size_t left = budget.detail_bytes;
  for (const json& detail : page.at("details")) {
    if (all.size() == budget.sites) break;
    json row = json::array();
    std::size_t bytes = 32 + 6 * detail.back().size();
    for (std::size_t i = 0; i + 1 < detail.size(); ++i) {
      row.push_back(cut(detail[i], 1000));
      bytes += row.back().get_ref<const std::string&>().size();
    }
    if (bytes > left) break;
    left -= bytes;
    row.push_back(names.add_all(detail.back()));
    all.push_back(std::move(row));
  }
  return all;
}

/// Returns: the data of the page with what fits of its sites.
std::string advice_text_in(const json& page, const page_budget& budget) {
  name_column names;
  names.add("");  // the most frequent ones first: their numbers are short
  json data = {{"sites", sites_json(page, budget, names)}, {"details", details_json(page, budget, names)}};
  for (const auto& [key, value] : page.items())
    if (!data.contains(key)) data[key] = value;
  data["calls"]["name"] = names.add_all(page.at("calls").at("name"));
  data["names"] = names.to_json(budget.name_bytes);
  return script_text(data);
}

constexpr const char* flame_parts = R"html(<div class="bar"><select id="measure" aria-label="measure"></select>
<label><input type="checkbox" id="inverted"> inverted</label>
<label><input type="checkbox" id="library"> library calls</label>
<input type="search" id="flame-search" placeholder="search functions" aria-label="search functions">
<button id="flame-reset" disabled>show all</button><span class="grow"></span><output id="flame-status"></output></div>
<div class="flame-scroll" tabindex="-1"><div id="flame"></div></div>)html";

/// Returns: the parts of a page with those of its flame graph in place of their name.
std::string with_flame(std::string parts) { return parts.replace(parts.find("@flame@"), 7, flame_parts); }

constexpr const char* diff_parts = R"html(<div id="totals"></div>
<h2>Which calls</h2>
<p>Width is the measure, depth the calls. ▲ and orange: more is allocated there than before; ▼ and blue: less. A click widens a
call; inverted, the allocating functions stand first.</p>
<section class="card">
@flame@
</section>
<h2>Call sites</h2>
<div id="changes"></div>)html";

constexpr const char* advice_parts = R"html(<div id="warnings"></div>
<section class="verdict" id="verdict"></section>
<div id="plan"></div>
<h2>Memory over time</h2>
<p>Each column is the moment of its most live bytes, so no peak is lost. A click chooses the time of the flame graph.</p>
<section class="card">
<div class="bar"><b id="moment"></b><span class="grow"></span><button id="compare" title="the flame graph shows what grows from this time on">compare from here</button><button id="to-peak">peak</button><button id="to-end">end</button></div>
<div id="timeline"></div>
<input id="when" type="range" min="0" max="0" value="0" aria-label="time">
<div id="legend"></div>
</section>
<h2>Which calls</h2>
<p>Width is the measure, depth the calls. A click widens a call and lists its callers and callees; inverted, the
allocating functions stand first.</p>
<section class="card">
@flame@
<p class="small" id="chosen-call"></p>
<div class="sandwich"><div><h3>Callers</h3><div id="callers"></div></div>
<div><h3>Functions</h3><div id="functions"></div></div><div><h3>Callees</h3><div id="callees"></div></div></div>
</section>
<h2>Call sites</h2>
<p id="order"> A click on a row shows its evidence, a click on a title sorts.</p>
<section class="card">
<div class="bar"><input type="search" id="site-search" placeholder="function, file or caller" aria-label="search sites">
<select id="remedy" aria-label="remedy"></select><span class="grow"></span><output id="table-status"></output></div>
<table class="sites"><thead><tr id="head"></tr></thead><tbody id="rows"></tbody></table>
<button id="more" class="more">more</button>
</section>
<div class="halves">
<section class="card"><h3>Lifetime against size</h3>
<p>Medians of each site; the area of a circle is its share of all allocations or bytes.</p><div id="scatter"></div></section>
<section class="card"><h3>Which sites keep pages</h3>
<p>Simulated: pages that long-lived objects would lie on at once, were all blocks laid one after the other, against the
pages that they fill. A trace holds no addresses.</p><div id="pins"></div></section>
</div>
<h2>At the end</h2>
<section class="card">
<p id="ending"></p>
<p class="small">Lost or still reachable? A trace holds no pointers, so it tells what was never freed, and not what the
program can still reach. LeakSanitizer or valgrind scan the heap and tell that. A site that frees most of its objects and
keeps a few, or that grows to the end, is the more likely leak; a site that stops growing early is more likely a table
that is kept on purpose.</p>
<div id="leftovers"></div>
</section>)html";

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : json::parse(utf8(json(text))).get<std::string>()) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string html_report(const replay_figures* figures, const replayed_trace* replayed, const report_data& data) {
  const std::string name = data.program.empty() ? data.path : data.program;
  json page = {{"report", report_json(data)},
               {"replay", nullptr},
               {"spanNote", span_note(data)},
               {"passedThrough", passed_through_note(data)},
               {"noSites", no_sites_note(data.has_stacks, data.events)}};
  if (figures != nullptr) {
    page["replay"] = replay_json(*figures, *replayed);
    page["headline"] = replay_headline(*replayed);
    page["findingsHeading"] = replay_findings_heading(*figures);
    page["notes"] = replay_notes(*figures, *replayed);
  }
  const char* const kind =
      figures == nullptr ? "What this program allocates" : "Which allocator serves this program best";
  return html_page("ashlar: " + name, kind, name, "<div id=\"report\"></div>", report_assets(), script_text(page));
}

std::string html_diff(json page) {
  json& changes = page.at("diff").at("changes");
  page["allChanges"] = changes.size();
  if (changes.size() > most_changes) changes.erase(changes.begin() + most_changes, changes.end());
  name_column names;
  names.add("");
  page["calls"]["name"] = names.add_all(page["calls"].at("name"));
  page["names"] = names.to_json(page_budget{}.name_bytes);
  const auto title = [&](const char* side) { return page["diff"][side]["traces"].at(0).get<std::string>(); };
  const std::string name = title("before") + " → " + title("after");
  return html_page("ashlar diff: " + name, "What this program allocates now, and did before", name,
                   with_flame(diff_parts), diff_assets(), script_text(page));
}

json page_row(const json& site) {
  const json& f = site.at("features");
  const bool has_line = site.at("line") != 0, has_name = site.at("function") != "";
  const std::uint64_t life_ns = f.at("median_life_ns");
  return {{"rule", site.at("rule")},
          {"remedy", site.at("remedy")},
          {"words", site.at("words")},
          {"estimate", site.at("gain").at("estimate_ns")},
          {"function", site.at(has_name ? "function" : "site")},
          {"file", site.at(has_line ? "file" : "module")},
          {"line", has_line ? site.at("line").get<std::int64_t>() : -site.at("offset").get<std::int64_t>()},
          {"container", site.at("container")},
          {"distinction", site.at("distinction")},
          {"objects", f.at("allocated").at("objects")},
          {"bytes", f.at("allocated").at("bytes")},
          {"peakObjects", f.at("peak").at("objects")},
          {"peakBytes", f.at("peak").at("bytes")},
          {"atPeak", f.at("at_program_peak").at("bytes")},
          {"neverObjects", f.at("never_freed").at("objects")},
          {"neverBytes", f.at("never_freed").at("bytes")},
          {"size", f.at("median_bytes")},
          // the quarter of an octave
          {"life", life_ns == 0 ? -1 : static_cast<std::int64_t>(study::histogram<2>::bucket_of(life_ns))},
          {"temporary", f.at("temporary")},
          {"lives", shape_of(lifetime_classes(f.at("lifetimes_ns")))}};
}

std::string shape_of(const std::vector<std::uint64_t>& parts) {
  static constexpr char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  const std::uint64_t most = parts.empty() ? 0 : *std::ranges::max_element(parts);
  std::string shape;
  for (const std::uint64_t part : parts) {
    const double height = most == 0 ? 0 : std::ceil(35.0 * static_cast<double>(part) / static_cast<double>(most));
    shape += digits[static_cast<std::size_t>(height)];
  }
  shape.resize(shape.find_last_not_of('0') + 1);
  return shape;
}

std::string html_advice(const json& page) {
  const page_assets assets = advice_assets();
  const std::string program = page.at("program");
  const std::string parts = with_flame(advice_parts);
  const std::size_t frame =
      most_frame_bytes + parts.size() + assets.style.size() + assets.script.size() + 2 * escaped(program).size();
  page_budget budget;
  std::string text = advice_text_in(page, budget);
  while (text.size() + frame > most_bytes && budget.is_large()) {
    budget.shrink_from(text.size(), most_bytes - frame);
    text = advice_text_in(page, budget);
  }
  return html_page("ashlar advise: " + program, "What this program allocates, and what to put in its place", program,
                   parts, assets, text);
}

}  // namespace ashlar::cli
