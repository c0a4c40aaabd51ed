// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds pages: style sheet, tiles, figures, tables.
#include "cli/html/page.hpp"

#include <fmt/format.h>

#include <ashlar/base/config.hpp>

#include "cli/html/svg.hpp"

namespace ashlar::cli {

namespace {

// Orange against blue and grey: distinct for colour-blind readers and in print. Shapes and names carry the meaning,
// too.
constexpr const char* style_sheet = R"css(
:root { --page: #f7f5f1; --card: #fffefb; --ink: #1f2328; --soft: #666c75; --rule: #e3dfd6; --own: #d1571b;
  --rival: #3f77ad; --baseline: #878e98; --none: #cfcbc2; --area: #3f77ad; color-scheme: light; }
@media (prefers-color-scheme: dark) { :root { --page: #15171b; --card: #1d2025; --ink: #e9e7e2; --soft: #a0a6af;
  --rule: #33373e; --own: #f48b4d; --rival: #6fa6da; --baseline: #8b929c; --none: #4b5058; --area: #6fa6da;
  color-scheme: dark; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 36px 28px 48px; }
header p { margin: 0; color: var(--soft); }
h1 { font-size: 27px; line-height: 1.25; margin: 2px 0 6px; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 20px; margin: 44px 0 14px; padding-top: 20px; border-top: 1px solid var(--rule); }
h3 { font-size: 15px; margin: 0; }
.verdict { margin: 22px 0 24px; padding: 16px 20px; border-left: 5px solid var(--own); background: var(--card);
  font-size: 17px; border-radius: 0 8px 8px 0; }
.verdict p { margin: 0; } .verdict p + p { margin-top: 4px; color: var(--soft); font-size: 15px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 0 0 18px; }
.tile, figure, .scroll { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; }
.tile { padding: 11px 15px; } .tile b { display: block; font-size: 20px; line-height: 1.3; font-weight: 600; }
.tile span, figcaption, .notes { color: var(--soft); font-size: 13px; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 16px; }
figure { margin: 0 0 16px; padding: 15px 18px 10px; } figcaption { margin: 1px 0 8px; }
svg { display: block; width: 100%; height: auto; font-size: 13px; }
svg text { fill: var(--ink); } svg .tick, svg .axis { fill: var(--soft); font-size: 12px; }
svg .value { font-variant-numeric: tabular-nums; } svg .strong { font-weight: 700; fill: var(--own); }
.grid { stroke: var(--rule); stroke-width: 1; } .base-line { stroke: var(--soft); stroke-width: 1; }
.whisker { stroke: var(--ink); stroke-width: 1.4; }
.own { fill: var(--own); stroke: var(--own); } .rival { fill: var(--rival); stroke: var(--rival); }
.baseline { fill: var(--baseline); stroke: var(--baseline); } .none { fill: var(--none); stroke: var(--none); }
.plain { fill: var(--soft); stroke: var(--soft); } rect.own, rect.rival, rect.baseline, rect.none, rect.plain { stroke: none; }
.stem { stroke-width: 2; stroke-opacity: 0.45; } .hollow { fill: var(--card); fill-opacity: 0; stroke-width: 2; }
.column { fill: var(--area); } .area { fill: var(--area); fill-opacity: 0.28; }
.area-edge { fill: var(--area); stroke: var(--area); stroke-width: 1.2; stroke-linejoin: round; }
.scroll { overflow-x: auto; margin: 0 0 16px; padding: 4px 6px; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th { font-weight: 600; color: var(--soft); text-align: right; vertical-align: bottom; }
th, td { padding: 7px 10px; } td { text-align: right; border-top: 1px solid var(--rule); white-space: nowrap; }
th.text, td.text { text-align: left; min-width: 9.5em; white-space: normal; overflow-wrap: anywhere; }
tr.own td { font-weight: 600; } tr.own td:first-child { color: var(--own); } tr.none td { color: var(--soft); }
code { font: 12.5px/1.45 ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; }
td code + code { display: block; color: var(--soft); padding-left: 1.2em; }
.notes { margin: 10px 0 0; padding-left: 18px; }
footer { margin-top: 40px; color: var(--soft); font-size: 13px; }
@media (max-width: 760px) { .pair { grid-template-columns: 1fr; } main { padding: 20px 14px; } }
@media print { body { background: none; } figure, .scroll, .tile { break-inside: avoid; } }
)css";

}  // namespace

std::string html_page(const std::string& title, const std::string& body, const page_extras& extras) {
  return fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'{}\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n<main>\n{}"
                     "<footer>ashlar {}.{}.{}</footer>\n</main>\n{}</body>\n</html>\n",
                     extras.scripts.empty() ? "" : "; script-src 'unsafe-inline'", escaped(title), style_sheet,
                     extras.style, body, ASHLAR_VERSION_MAJOR, ASHLAR_VERSION_MINOR, ASHLAR_VERSION_PATCH,
                     extras.scripts);
}

std::string html_tiles(const std::vector<fact_tile>& tiles) {
  std::string out = "<div class=\"tiles\">\n";
  for (const fact_tile& t : tiles)
    out += fmt::format("<div class=\"tile\"><span>{}</span><b>{}</b><span>{}</span></div>\n", escaped(t.name),
                       escaped(t.value), escaped(t.detail));
  return out + "</div>\n";
}

std::string html_figure(const std::string& title, const std::string& caption, const std::string& content) {
  return fmt::format("<figure>\n<h3>{}</h3>\n<figcaption>{}</figcaption>\n{}</figure>\n", escaped(title),
                     escaped(caption), content);
}

std::string html_table(const std::vector<std::string>& titles, const std::vector<std::vector<std::string>>& rows,
                       std::size_t text_columns, const std::vector<std::string>& row_styles) {
  const auto style = [&](std::size_t i) { return i < text_columns ? " class=\"text\"" : ""; };
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (std::size_t i = 0; i < titles.size(); ++i) out += fmt::format("<th{}>{}</th>", style(i), escaped(titles[i]));
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += fmt::format("<tr class=\"{}\">", r < row_styles.size() ? row_styles[r] : "");
    for (std::size_t i = 0; i < rows[r].size(); ++i) out += fmt::format("<td{}>{}</td>", style(i), rows[r][i]);
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table></div>\n";
}

}  // namespace ashlar::cli
