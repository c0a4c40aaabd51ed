// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frame of the page of advice: verdict and facts as text, the places that the script fills.
#include "cli/html/advice_page.hpp"

#include <fmt/format.h>

#include "cli/html/svg.hpp"
#include "cli/support/table.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t effect_columns = 26;
constexpr std::size_t most_group_name = 60;
constexpr std::size_t most_plan_text = 160;

std::string paragraph(const std::string& style, const std::string& text) {
  return fmt::format("<p class=\"{}\">{}</p>\n", style, escaped(text));
}

std::string verdict(const advice_page& page) {
  std::string out = "<section class=\"verdict\" id=\"verdict\">\n" + paragraph("headline", page.headline);
  if (!page.use.empty()) out += fmt::format("<pre>{}</pre>\n", escaped(page.use));
  if (!page.effects.empty())
    out += bar_chart("measured remedies", "the program as it is = 1", quantity::ratio, page.effects, effect_columns);
  if (!page.measured.empty())
    out += fmt::format("<details><summary>How it was measured, and each of them</summary><pre>{}</pre></details>\n",
                       escaped(page.measured));
  if (!page.summary.empty()) out += paragraph("summary", page.summary);
  if (!page.proposals.empty()) out += "<ol>\n";
  for (const page_proposal& p : page.proposals)
    out += "<li>" + paragraph("where", p.site) + paragraph("advice", "→ " + p.advice) +
           fmt::format("<div class=\"gain\">{}</div></li>\n", escaped(p.gain));
  if (!page.proposals.empty()) out += "</ol>\n";
  if (!page.no_code.empty()) out += "<h3>Without a change of code</h3>\n<ul>\n";
  for (const std::string& line : page.no_code) out += "<li>" + escaped(line) + "</li>\n";
  if (!page.no_code.empty()) out += "</ul>\n";
  return out + "</section>\n";
}

std::string ending(const advice_page& page) {
  std::string out;
  for (const std::string& sentence : page.ending) out += (out.empty() ? "" : " ") + escaped(sentence);
  return out;
}

/// Returns: the plan as a table; those that leave it are pale.
std::string plan_section(const advice_page& page) {
  if (page.plan_note.empty()) return "";
  std::string out = "<h2>Plan of routes</h2>\n<p>" + escaped(page.plan_note) + "</p>\n";
  if (page.plan.empty()) return out;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> styles;
  for (const page_group& g : page.plan) {
    const std::string effect = g.effect.empty() ? "–" : escaped(shorten(g.effect, most_plan_text));
    rows.push_back({escaped(shorten(g.name, most_group_name)), escaped(shorten(g.resource, most_group_name)),
                    escaped(shorten(g.sites, most_plan_text)), (g.stays ? "" : "Left the plan. ") + effect,
                    human_count(static_cast<double>(g.objects)), human_bytes(static_cast<double>(g.chunk_bytes)),
                    human_bytes(static_cast<double>(g.budget_bytes))});
    styles.emplace_back(g.stays ? "" : "none");
  }
  constexpr std::size_t columns_of_text = 4;
  return out + "<div class=\"plan\">\n" +
         html_table({"group", "memory", "call sites", "measured effect", "allocations", "chunk", "budget"}, rows,
                    columns_of_text, styles) +
         "</div>\n";
}

constexpr const char* upper_parts = R"html(
<h2>Memory over time</h2>
<p>Each column is the moment of its most live bytes, so no peak is lost. A click chooses the time of the flame graph.</p>
<section class="card">
<div class="bar"><b id="moment"></b><span class="grow"></span><button id="compare" title="the flame graph shows what grows from this time on">compare from here</button><button id="to-peak">peak</button><button id="to-end">end</button></div>
<div id="timeline"></div>
<input id="when" type="range" min="0" max="0" value="0" aria-label="time">
<div id="legend"></div>
</section>
<h2>Which calls</h2>
<p>Width is the measure, depth the calls. A click widens a call; inverted, the allocating functions stand first.</p>
<section class="card">
<div class="bar"><select id="measure" aria-label="measure"></select>
<label><input type="checkbox" id="inverted"> inverted</label>
<label><input type="checkbox" id="library"> library calls</label>
<input type="search" id="flame-search" placeholder="mark calls" aria-label="mark calls">
<button id="flame-reset" disabled>show all</button><span class="grow"></span><output id="flame-status"></output></div>
<div class="flame-scroll" tabindex="-1"><div id="flame"></div></div>
</section>
)html";

constexpr const char* table_parts = R"html(<section class="card">
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
)html";

constexpr const char* lower_part = R"html(
<p class="small">Lost or still reachable? A trace holds no pointers, so it tells what was never freed, and not what the
program can still reach. LeakSanitizer or valgrind scan the heap and tell that. A site that frees most of its objects and
keeps a few, or that grows to the end, is the more likely leak; a site that stops growing early is more likely a table
that is kept on purpose.</p>
<div id="leftovers"></div>
</section>
<noscript><p class="warning">The plots and the table of sites need JavaScript, which is part of this file.</p></noscript>
)html";

}  // namespace

std::string html_advice(const advice_page& page) {
  std::string body =
      fmt::format("<header><p>What this program allocates, and what to put in its place</p><h1>{}</h1></header>\n",
                  escaped(page.program));
  for (const std::string& warning : page.warnings) body += paragraph("warning", warning);
  body += verdict(page) + html_tiles(page.facts) + plan_section(page) + upper_parts;
  body += "<h2>Call sites</h2>\n<p>" + escaped(page.order) +
          " A click on a row shows its evidence, a click on a title sorts.</p>\n" + table_parts;
  body += "<section class=\"card\">\n<p>" + ending(page) + "</p>" + lower_part;
  const std::string scripts =
      fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n<script>{}</script>\n",
                  advice_page_data(page), advice_script());
  return html_page("ashlar advise: " + page.program, body, {.style = std::string(advice_style()), .scripts = scripts});
}

}  // namespace ashlar::cli
