// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap as an SVG picture: a row for each segment, slices by content and occupancy, a bar for each huge block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/heap_region.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/text_writer.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {

// Colours of size classes differ in light and dark mode; the other colours are paper, ink and their greys.
inline constexpr std::string_view heap_map_style = R"css(
.map { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
.map text { fill: #1f2328; } .map .soft { fill: #666c75; }
.map .mono { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; font-size: 11px; }
.map .paper { fill: #fffefb; } .map .free { fill: #cfcbc2; } .map .head { fill: #666c75; }
.map .fresh { fill: none; stroke: #cfcbc2; stroke-dasharray: 3 3; } .map .tick { stroke: #e3dfd6; }
.map .spare { fill-opacity: .12; stroke: #8a5bb5; stroke-opacity: .6; } .map .run, .map .spare { fill: #8a5bb5; }
.map .huge { fill: #a8467f; } .map .pale { fill-opacity: .2; } .map .on { fill: #fff; font-size: 11px; }
@media (prefers-color-scheme: dark) {
.map text { fill: #e9e7e2; } .map .soft { fill: #a0a6af; } .map .paper { fill: #1d2025; } .map .free { fill: #4b5058; }
.map .head { fill: #a0a6af; } .map .fresh { stroke: #4b5058; } .map .tick { stroke: #33373e; } .map .on { fill: #fff; }
.map .run, .map .spare { fill: #9d72c6; } .map .huge { fill: #bf5e95; } }
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
    key("run", left + 188, "a block");
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
    else box(style_of(piece.kind), x, row_, w, tile_height).text(" rx=\"2\"/>");
    if (piece.kind == region_kind::run && w >= 50)
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
    out_.text(name_of(piece.kind))
        .text(piece.kind == region_kind::huge && piece.live == 0 ? " recently freed, " : ", ");
    out_.size(piece.bytes).text(" at ").address(piece.start);
  }

  [[nodiscard]] static std::string_view style_of(region_kind kind) noexcept {
    switch (kind) {
      case region_kind::head: return "head";
      case region_kind::slab: return "";
      case region_kind::run: return "run";
      case region_kind::spare: return "spare";
      case region_kind::free: return "free";
      case region_kind::fresh: return "fresh";
      case region_kind::huge: return "huge";
    }
    return "";
  }

  [[nodiscard]] static std::string_view name_of(region_kind kind) noexcept {
    switch (kind) {
      case region_kind::head: return "the header of the segment";
      case region_kind::slab: return "a slab";
      case region_kind::run: return "one block";
      case region_kind::spare: return "a block recently freed";
      case region_kind::free: return "free, and used before";
      case region_kind::fresh: return "free, never touched";
      case region_kind::huge: return "a huge block";
    }
    return "";
  }

  text_writer<Out>& out_;
  heap_map_extent all_;
  std::size_t margin_;
  std::size_t row_ = 0;        // the top of the current row
  std::size_t row_live_ = 0;   // live bytes in the row
  std::size_t row_bytes_ = 0;  // bytes of the row
  std::size_t drawn_huge_ = 0;
};

/// As `write_heap_svg`, into a page that is being written.
template <class Heap, class Out>
void draw_heap(const Heap& heap, text_writer<Out>& out, std::size_t margin) {
  heap_map_extent all;
  heap.inspect([&](const heap_region& piece) { all.add(piece); });
  heap_drawing drawing(out, all, margin);
  drawing.begin();
  heap.inspect([&](const heap_region& piece) { drawing.draw(piece); });
  drawing.end();
}

}  // namespace detail

/// Effects: writes an SVG picture of the heap to `out(std::string_view)`, in pieces. The picture is self-contained and
/// suits light and dark mode. `out` may not use the heap, whose blocks stay unchanged. Allocates nothing. Throws what
/// `out` throws. Rows that other threads add meanwhile lie below the frame. Complexity: O(slices and cells outside
/// bitmaps); about 300 characters for each slab or block of a segment.
template <class Heap, class Out>
  requires detail::text_sink<Out>
void write_heap_svg(const Heap& heap, Out&& out) {
  detail::text_writer text(out);
  detail::draw_heap(heap, text, 16);
  text.flush();
}

}  // namespace ashlar::ASHLAR_ABI
