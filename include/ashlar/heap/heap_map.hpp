// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap as an HTML page: its figures, a map and a table by size class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/text_writer.hpp>
#include <ashlar/heap/heap_map_svg.hpp>
#include <ashlar/heap/heap_statistics.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {

inline constexpr std::string_view heap_page_style = R"css(
:root { --page: #f7f5f1; --card: #fffefb; --ink: #1f2328; --soft: #666c75; --rule: #e3dfd6; --live: #3f77ad;
  --spare: #9dbad6; --waste: #d1571b; --free: #cfcbc2; --fresh: #ece8df; --head: #666c75;
  --dropped: #dfe6ec; color-scheme: light; }
@media (prefers-color-scheme: dark) { :root { --page: #15171b; --card: #1d2025; --ink: #e9e7e2; --soft: #a0a6af;
  --rule: #33373e; --live: #6fa6da; --spare: #3c5a78; --waste: #f48b4d; --free: #4b5058; --fresh: #2b2f35;
  --head: #a0a6af; --dropped: #2a3540; color-scheme: dark; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 36px 28px 48px; }
header p { margin: 0; color: var(--soft); }
h1 { font-size: 27px; line-height: 1.25; margin: 2px 0 20px; letter-spacing: -0.01em; }
h2 { font-size: 15px; margin: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(132px, 1fr)); gap: 12px; margin: 0 0 16px; }
.tile, section { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; }
.tile { padding: 10px 14px; } .tile b { display: block; font-size: 20px; line-height: 1.3; font-weight: 600; }
.tile span, section p, footer { color: var(--soft); font-size: 13px; }
section { margin: 0 0 16px; padding: 15px 18px 16px; overflow-x: auto; } section p { margin: 1px 0 12px; }
.bar { display: flex; height: 22px; border-radius: 4px; overflow: hidden; gap: 1px; } .bar i { min-width: 1px; }
.keys { display: flex; flex-wrap: wrap; gap: 2px 20px; margin: 10px 0 0; padding: 0;
  list-style: none; font-size: 13px; }
.keys i, .swatch { display: inline-block; width: 12px; height: 12px; margin-right: 7px; border-radius: 3px; }
.keys b { font-weight: 600; } .live { background: var(--live); } .spare { background: var(--spare); }
.waste { background: var(--waste); } .free { background: var(--free); } .fresh { background: var(--fresh); }
.head { background: var(--head); } .dropped { background: var(--dropped); }
section > .map { display: block; min-width: 760px; width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th { font-weight: 600; color: var(--soft); text-align: right; } th, td { padding: 4px 10px; white-space: nowrap; }
td { text-align: right; border-top: 1px solid var(--rule); } th:first-child, td:first-child { text-align: left; }
tr.sum td { font-weight: 600; } td.level { width: 22%; } td .bar { height: 9px; border-radius: 3px; }
.swatch { vertical-align: -1px; }
footer { margin-top: 28px; }
@media print { body { background: none; } section, .tile { break-inside: avoid; } }
@media (max-width: 760px) { main { padding: 20px 12px; } }
)css";

/// Writes the parts of a page about one heap, each from the statistics alone.
template <class Out>
class heap_page {
public:
  heap_page(text_writer<Out>& out, const heap_statistics& heap) : out_(out), heap_(heap) {}

  void begin() {
    out_.text("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        .text(
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>ashlar: a heap</title>\n")
        .text("<style>")
        .text(heap_page_style)
        .text("</style>\n</head>\n<body>\n<main>\n<header><p>What lies in a heap</p><h1>");
    out_.size(heap_.all.live_bytes).text(" live in ").size(heap_.held_bytes).text("</h1></header>\n");
    tiles();
    shares();
  }

  void begin_map() {
    out_.text(
            "<section>\n<h2>Map</h2>\n<p>A row is a segment of 4 MiB, each of its 64 slices 64 KiB. Rest the pointer ")
        .text("on a piece to read what it is. On the right: how much of the segment is live.</p>\n");
  }

  void table() {
    out_.text("</section>\n<section>\n<h2>By class</h2>\n<p>Bytes are those of whole cells, runs and huge blocks, ")
        .text("regardless of the "
              "requests.</p>\n<table>\n<thead><tr><th>blocks</th><th>slabs</th><th>live</th><th>spare</th>")
        .text(
            "<th>live bytes</th><th>spare bytes</th><th>waste</th><th>live, spare, waste</th></tr></thead>\n<tbody>\n");
    for (std::size_t size_class = 1; size_class <= size_classes::count; ++size_class)
      if (heap_.of_class[size_class].slabs != 0) cells(size_class);
    named("run", "runs", heap_.runs);
    named("huge", "huge blocks", heap_.huge);
    out_.text("<tr class=\"sum\"><td>all</td>");
    figures(heap_.all);
    out_.text("</tbody>\n</table>\n</section>\n");
  }

  void end() {
    out_.text("<footer>ashlar ").number(ASHLAR_VERSION_MAJOR).text(".").number(ASHLAR_VERSION_MINOR).text(".");
    out_.number(ASHLAR_VERSION_PATCH).text("</footer>\n</main>\n</body>\n</html>\n");
  }

private:
  // Effects: begins a tile; the caller adds its last line.
  text_writer<Out>& tile(std::string_view name, std::size_t bytes) {
    out_.text("<div class=\"tile\"><span>").text(name).text("</span><b>").size(bytes);
    return out_.text("</b><span>");
  }

  void tiles() {
    constexpr std::string_view end = "</span></div>\n";
    out_.text("<div class=\"tiles\">\n");
    tile("held", heap_.held_bytes).counted(heap_.segments, "segment").text(end);
    tile("live", heap_.all.live_bytes).counted(heap_.all.live_blocks, "block").text(end);
    tile("spare", heap_.all.spare_bytes).counted(heap_.all.spare_blocks, "block").text(end);
    tile("waste", heap_.all.waste_bytes).text("outside cells").text(end);
    tile("free", heap_.free_bytes + heap_.fresh_bytes).size(heap_.fresh_bytes).text(" fresh").text(end);
    tile("metadata", heap_.head_bytes + heap_.table_bytes).text("headers and tables").text(end);
    out_.text("<div class=\"tile\"><span>faults avoided</span><b>").grouped(heap_.page_faults_avoided);
    out_.text("</b><span>at most").text(end).text("</div>\n");
  }

  struct part {
    std::string_view style;
    std::string_view name;
    std::size_t bytes;
  };

  void segment_of_bar(const part& each) {
    if (each.bytes == 0) return;
    out_.text("<i class=\"").text(each.style).text("\" style=\"flex:").number(each.bytes).text("\" title=\"");
    out_.text(each.name).text(" ").size(each.bytes).text("\"></i>");
  }

  void shares() {
    const part parts[] = {{"live", "live", heap_.all.live_bytes},
                          {"spare", "spare", heap_.all.spare_bytes - heap_.all.dropped_bytes},
                          {"waste", "waste", heap_.all.waste_bytes},
                          {"head", "segment headers", heap_.head_bytes},
                          {"free", "free, used before", heap_.free_bytes},
                          {"dropped", "spare, given back", heap_.all.dropped_bytes},
                          {"fresh", "free, never touched", heap_.fresh_bytes}};
    out_.text("<section>\n<h2>What is held</h2>\n<p>From the upstream, in total ").size(heap_.held_bytes);
    out_.text(". The last two are address space alone.");
    if (heap_.cached_bytes != 0)
      out_.text(" About ").size(heap_.cached_bytes).text(" of the live bytes are free cells in the caches of threads.");
    out_.text("</p>\n<div class=\"bar\">");
    for (const part& each : parts) segment_of_bar(each);
    out_.text("</div>\n<ul class=\"keys\">");
    for (const part& each : parts) {
      out_.text("<li><i class=\"").text(each.style).text("\"></i>").text(each.name).text(" <b>").size(each.bytes);
      out_.text("</b> ").percentage(each.bytes, heap_.held_bytes).text("</li>\n");
    }
    out_.text("</ul>\n</section>\n");
  }

  // The caller adds the style, one of the map's.
  text_writer<Out>& swatch() {
    return out_.text("<tr><td><svg class=\"map swatch\" viewBox=\"0 0 12 12\"><rect class=\"");
  }
  void end_swatch() { out_.text("\" width=\"12\" height=\"12\" rx=\"3\"/></svg>"); }

  void cells(std::size_t size_class) {
    swatch().text("k").number(size_class);
    end_swatch();
    out_.grouped(size_classes::bytes_of(size_class)).text(" B</td>");
    figures(heap_.of_class[size_class]);
  }

  void named(std::string_view style, std::string_view name, const heap_statistics::share& share) {
    if (share.held_bytes() == 0) return;
    swatch().text(style);
    end_swatch();
    out_.text(name).text("</td>");
    figures(share);
  }

  void figures(const heap_statistics::share& share) {
    out_.text("<td>");
    if (share.slabs != 0) out_.grouped(share.slabs);
    out_.text("</td><td>").grouped(share.live_blocks).text("</td><td>").grouped(share.spare_blocks);
    for (const std::size_t bytes : {share.live_bytes, share.spare_bytes, share.waste_bytes})
      out_.text("</td><td>").size(bytes);
    out_.text("</td><td class=\"level\"><div class=\"bar\">");
    segment_of_bar({"live", "live", share.live_bytes});
    segment_of_bar({"spare", "spare", share.spare_bytes});
    segment_of_bar({"waste", "waste", share.waste_bytes});
    out_.text("</div></td></tr>\n");
  }

  text_writer<Out>& out_;
  const heap_statistics& heap_;
};

}  // namespace detail

/// Effects: writes a self-contained page about the heap to `out(std::string_view)`, in pieces. `out` may not use the
/// heap, whose blocks stay unchanged. Allocates nothing. Throws: as `out`. Complexity: as `write_heap_svg`.
template <class Heap, class Out>
  requires detail::text_sink<Out>
void write_heap_html(const Heap& heap, Out&& out) {
  detail::text_writer text(out);
  const heap_statistics sums = statistics_of(heap);
  detail::heap_page page(text, sums);
  page.begin();
  page.begin_map();
  detail::draw_heap(heap, text, 0);
  page.table();
  page.end();
  text.flush();
}

}  // namespace ashlar::ASHLAR_ABI
