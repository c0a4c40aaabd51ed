// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap as an HTML page: its figures, a map and a table by size class.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/text_writer.hpp>
#include <ashlar/heap/heap_statistics.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {

// Colours of size classes differ in light and dark mode; the other colours are paper, ink and their greys.
inline constexpr std::string_view heap_map_style = R"css(
.map { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
.map text { fill: #1f2328; } .map .soft { fill: #666c75; }
.map .mono { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; font-size: 11px; }
.map .paper { fill: #fffefb; } .map .free { fill: #cfcbc2; } .map .head { fill: #666c75; }
.map .fresh { fill: none; stroke: #cfcbc2; stroke-dasharray: 3 3; } .map .tick { stroke: #e3dfd6; }
.map .spare { fill-opacity: .12; stroke: #8a5bb5; stroke-opacity: .6; } .map .span, .map .spare { fill: #8a5bb5; }
.map .huge { fill: #a8467f; } .map .pale { fill-opacity: .2; } .map .on { fill: #fff; font-size: 11px; }
@media (prefers-color-scheme: dark) {
.map text { fill: #e9e7e2; } .map .soft { fill: #a0a6af; } .map .paper { fill: #1d2025; } .map .free { fill: #4b5058; }
.map .head { fill: #a0a6af; } .map .fresh { stroke: #4b5058; } .map .tick { stroke: #33373e; } .map .on { fill: #fff; }
.map .span, .map .spare { fill: #9d72c6; } .map .huge { fill: #bf5e95; } }
)css";

/// The measures of a heap that a picture needs before its first line.
struct heap_map_extent {
  std::size_t segments = 0;
  std::size_t huge = 0;
  std::size_t largest_huge = 0;  // bytes

  void add(const heap_region& piece) noexcept {
    if (piece.kind == region_kind::head) ++segments;
    if (piece.kind != region_kind::huge) return;
    ++huge;
    largest_huge = std::max(largest_huge, piece.bytes);
  }
};

/// Draws the pieces one after the other, in the order of `inspect`.
template <class Out>
class heap_drawing {
public:
  static constexpr std::size_t width = 1000;

  heap_drawing(text_writer<Out>& out, const heap_map_extent& all, std::size_t margin)
      : out_(out), all_(all), margin_(margin) {}

  void begin() {
    out_.text("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"map\" viewBox=\"0 0 ").number(width + 2 * margin_);
    out_.text(" ").number(height() + 2 * margin_).text("\" role=\"group\" aria-label=\"Map of the heap\">\n<style>");
    out_.text(heap_map_style);
    for (std::size_t size_class = 1; size_class <= size_classes::count; ++size_class) colour(size_class);
    out_.text("</style>\n");
    box("paper", 0, 0, width + 2 * margin_, height() + 2 * margin_).text("/>\n<g transform=\"translate(");
    out_.number(margin_).text(" ").number(margin_).text(")\">\n");
    legend();
    if (all_.segments != 0) scale();
    row_ = legend_height + scale_height - pitch;
  }

  void draw(const heap_region& piece) {
    if (piece.kind == region_kind::huge) return huge(piece);
    if (piece.kind == region_kind::head) begin_row(piece);
    row_live_ += piece.live_bytes();
    row_bytes_ += piece.bytes;
    tile(piece);
  }

  void end() {
    end_row();
    if (all_.huge > most_huge)
      text("soft", left, row_ + pitch + 14).text("and ").number(all_.huge - most_huge).text(" more</text>\n");
    out_.text("</g>\n</svg>\n");
  }

private:
  static constexpr std::size_t left = 112, slice_width = 13, pitch = 22, tile_height = 18;
  static constexpr std::size_t legend_height = 70, scale_height = 20, huge_title = 34, most_huge = 32;

  [[nodiscard]] std::size_t height() const noexcept {
    const std::size_t bars = std::min(all_.huge, most_huge) + (all_.huge > most_huge ? 1 : 0);
    return legend_height + scale_height + all_.segments * pitch + (bars != 0 ? huge_title + bars * pitch : 0);
  }

  // From blue for the smallest size class to red for the largest; `oklch`, if supported, gives every hue one lightness.
  void colour(std::size_t size_class) {
    const std::size_t of = size_class - 1, last = size_classes::count - 1;
    out_.text(".map .k")
        .number(size_class)
        .text("{fill:hsl(")
        .number(222 - of * 205 / last)
        .text(" 52% 50%);fill:oklch(.64 .13 ");
    out_.number(262 - of * 232 / last).text(")}\n");
  }

  // Effects: begins a rectangle; the caller ends it.
  text_writer<Out>& box(std::string_view style, std::size_t x, std::size_t y, std::size_t w, std::size_t h) {
    out_.text("<rect class=\"").text(style).text("\" x=\"").number(x).text("\" y=\"").number(y).text("\" width=\"");
    return out_.number(w).text("\" height=\"").number(h).text("\"");
  }

  text_writer<Out>& text(std::string_view style, std::size_t x, std::size_t y, std::string_view anchor = "start") {
    out_.text("<text class=\"").text(style).text("\" x=\"").number(x).text("\" y=\"").number(y);
    return out_.text("\" text-anchor=\"").text(anchor).text("\">");
  }

  void key(std::string_view style, std::size_t x, std::string_view words) {
    box(style, x, 4, 16, 14).text(" rx=\"2\"/>\n");
    text("soft", x + 22, 15).text(words).text("</text>\n");
  }

  void legend() {
    text("soft", 0, 43).text("cells of</text>\n");
    for (std::size_t size_class = 1; size_class <= size_classes::count; ++size_class) {
      out_.text("<g class=\"k").number(size_class).text("\">");
      box("", left + (size_class - 1) * 11, 32, 11, 14).text("><title>");
      out_.counted(size_classes::bytes_of(size_class), "byte").text("</title></rect></g>\n");
    }
    for (const std::size_t bytes : {16u, 128u, 256u, 512u, 1024u, 2048u, 4096u, 8192u, 16384u, 32768u}) {
      text("soft", left + 5 + (size_classes::of(bytes) - 1) * 11, 59, "middle")
          .number(bytes < 1024 ? bytes : bytes / 1024);
      out_.text(bytes < 1024 ? " B</text>\n" : " KiB</text>\n");
    }
    text("soft", 0, 15).text("slices</text>\n");
    key("k24", left, "cells, filled by live share");
    key("span", left + 188, "a block");
    key("spare", left + 270, "recently freed");
    key("free", left + 380, "free");
    key("fresh", left + 446, "never touched");
    key("head", left + 566, "metadata");
    if (all_.huge != 0) key("huge", left + 690, "a huge block");
  }

  void scale() {
    constexpr std::size_t mebi = (std::size_t{1} << 20) / slice_bytes;
    for (std::size_t slice = 0; slice <= slices_per_segment; slice += mebi)
      text("soft", x_of(slice), legend_height + 13, slice == 0 ? "start" : "middle")
          .number(slice / mebi)
          .text(" MiB</text>\n");
  }

  [[nodiscard]] static constexpr std::size_t x_of(std::size_t slice) noexcept { return left + slice * slice_width; }

  void begin_row(const heap_region& head) {
    end_row();
    row_ += pitch;
    text("soft mono", 0, row_ + 13).address(head.start).text("</text>\n");
  }

  void end_row() {
    if (row_bytes_ == 0) return;
    text("soft", width, row_ + 13, "end").percentage(row_live_, row_bytes_).text("</text>\n");
    row_live_ = row_bytes_ = 0;
  }

  void tile(const heap_region& piece) {
    const std::size_t first = segment::slice_of(piece.start), x = x_of(first);
    const std::size_t w = piece.bytes / slice_bytes * slice_width - 1;
    out_.text("<g").text(piece.kind == region_kind::slab ? " class=\"k" : "");
    if (piece.kind == region_kind::slab) out_.number(piece.size_class).text("\"");
    out_.text("><title>");
    describe(piece);
    out_.text("</title>");
    if (piece.kind == region_kind::slab) level(piece, x, w);
    else box(look_of(piece.kind).style, x, row_, w, tile_height).text(" rx=\"2\"/>");
    if (piece.kind == region_kind::span && w >= 50)
      text("on", x + w / 2, row_ + 13, "middle").size(piece.bytes).text("</text>");
    out_.text("</g>\n");
  }

  // The height of a slab's fill is its share of live cells.
  void level(const heap_region& slab, std::size_t x, std::size_t w) {
    const std::size_t full = (slab.live * tile_height + slab.capacity - 1) / slab.capacity;
    if (full != tile_height) box("pale", x, row_, w, tile_height).text(" rx=\"2\"/>");
    if (full != 0) box("", x, row_ + tile_height - full, w, full).text(" rx=\"2\"/>");
  }

  void huge(const heap_region& block) {
    end_row();
    if (drawn_huge_++ == 0) {
      row_ += huge_title;
      text("", 0, row_ + 10).text("huge blocks</text>\n");
    }
    if (drawn_huge_ > most_huge) return;
    row_ += pitch;
    const std::size_t longest = std::max(all_.largest_huge, block.bytes);  // other threads may have added blocks since
    const double share = static_cast<double>(block.bytes) / static_cast<double>(longest);
    const auto w = static_cast<std::size_t>(share * static_cast<double>(slices_per_segment * slice_width - 1));
    text("soft mono", 0, row_ + 13).address(block.start).text("</text>\n<g><title>");
    describe(block);
    out_.text("</title>");
    box(block.live != 0 ? "huge" : "huge pale", left, row_, std::max<std::size_t>(w, 1), tile_height)
        .text(" rx=\"2\"/></g>\n");
    text("soft", width, row_ + 13, "end").size(block.bytes).text("</text>\n");
  }

  void describe(const heap_region& piece) {
    if (piece.kind == region_kind::slab) {
      out_.number(piece.cell_bytes).text("-byte cells: ").number(piece.live).text(" of ").number(piece.capacity);
      out_.text(" live, ").percentage(piece.live, piece.capacity).text("\n");
      if (piece.dropped_bytes != 0) out_.size(piece.dropped_bytes).text(" of the free ones given back\n");
    }
    out_.text(look_of(piece.kind).name)
        .text(piece.kind == region_kind::huge && piece.live == 0 ? " recently freed, " : ", ");
    out_.size(piece.bytes).text(" at ").address(piece.start);
  }

  struct look {
    std::string_view style, name;
  };
  [[nodiscard]] static look look_of(region_kind kind) noexcept {
    switch (kind) {
      case region_kind::head: return {"head", "the header of the segment"};
      case region_kind::slab: return {"", "a slab"};
      case region_kind::span: return {"span", "one block"};
      case region_kind::spare: return {"spare", "a block recently freed"};
      case region_kind::free: return {"free", "free, and used before"};
      case region_kind::fresh: return {"fresh", "free, never touched"};
      case region_kind::huge: return {"huge", "a huge block"};
    }
    return {};
  }

  text_writer<Out>& out_;
  heap_map_extent all_;
  std::size_t margin_;
  std::size_t row_ = 0;        // the top of the current row
  std::size_t row_live_ = 0;   // live bytes in the row
  std::size_t row_bytes_ = 0;  // bytes of the row
  std::size_t drawn_huge_ = 0;
};

template <class Heap, class Out>
void draw_heap(const Heap& heap, text_writer<Out>& out, std::size_t margin) {
  heap_map_extent all;
  heap.inspect([&](const heap_region& piece) { all.add(piece); });
  heap_drawing drawing(out, all, margin);
  drawing.begin();
  heap.inspect([&](const heap_region& piece) { drawing.draw(piece); });
  drawing.end();
}

template <class Heap, class Out>
void draw_picture(const Heap& heap, Out& out) {
  text_writer text(out);
  draw_heap(heap, text, 16);
  text.flush();
}

}  // namespace detail

/// Effects: writes an SVG picture of the heap to `out(std::string_view)`, in pieces. The picture is self-contained and
/// suits light and dark mode. `out` may not use the heap, whose blocks stay unchanged. Allocates nothing. Throws what
/// `out` throws. Rows that other threads add meanwhile lie below the frame. Complexity: O(slices and cells outside
/// bitmaps); about 300 characters for each slab or block of a segment.
template <class Heap, class Out>
  requires detail::text_sink<Out>
void write_heap_svg(const Heap& heap, Out&& out) {
  detail::draw_picture(heap, out);
}

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
    out_.text("</section>\n<section>\n<h2>By class</h2>\n<p>Bytes are those of whole cells, spans and huge blocks, ")
        .text("regardless of the "
              "requests.</p>\n<table>\n<thead><tr><th>blocks</th><th>slabs</th><th>live</th><th>spare</th>")
        .text(
            "<th>live bytes</th><th>spare bytes</th><th>waste</th><th>live, spare, waste</th></tr></thead>\n<tbody>\n");
    for (std::size_t size_class = 1; size_class <= size_classes::count; ++size_class)
      if (heap_.of_class[size_class].slabs != 0) cells(size_class);
    named("span", "spans", heap_.spans);
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

template <class Heap, class Out>
void draw_page(const Heap& heap, Out& out) {
  text_writer text(out);
  const heap_statistics sums = statistics_of(heap);
  heap_page page(text, sums);
  page.begin();
  page.begin_map();
  draw_heap(heap, text, 0);
  page.table();
  page.end();
  text.flush();
}

}  // namespace detail

/// Effects: writes a self-contained page about the heap to `out(std::string_view)`, in pieces. `out` may not use the
/// heap, whose blocks stay unchanged. Allocates nothing. Throws: as `out`. Complexity: as `write_heap_svg`.
template <class Heap, class Out>
  requires detail::text_sink<Out>
void write_heap_html(const Heap& heap, Out&& out) {
  detail::draw_page(heap, out);
}

}  // namespace ashlar::ASHLAR_ABI
