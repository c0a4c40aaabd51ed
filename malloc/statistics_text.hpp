// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The statistics of a heap as text for readers, and as the XML of malloc_info.
#pragma once

#include <cstddef>

#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/text_writer.hpp>
#include <ashlar/heap/heap_statistics.hpp>

#include "malloc/error_stream.hpp"

namespace ashlar::drop_in {

/// Effects: calls `f(cell_bytes, share)` for each size class with a slab.
template <class F>
ASHLAR_INLINE_FOR_SIZE inline void for_each_class(const heap_statistics& of, F f) {
  for (std::size_t size_class = 1; size_class <= detail::size_classes::count; ++size_class)
    if (of.of_class[size_class].slabs != 0) f(detail::size_classes::bytes_of(size_class), of.of_class[size_class]);
}

/// Returns: bytes of the process that were resident at once; 0 if the system does not tell.
[[nodiscard]] std::size_t peak_resident_bytes() noexcept;

/// Effects: writes the main figures in one line, since a shell may end a hundred processes. Allocates nothing.
ASHLAR_INLINE_FOR_SIZE inline void write_line(const heap_statistics& of, int process, const char* program,
                                              text_output out) {
  detail::text_writer text(out);
  text.text("ashlar: process ").number(process).text(" (").text(program).text("): at most ");
  text.size(peak_resident_bytes()).text(" resident; ").size(of.all.live_bytes).text(" live in ");
  text.counted(of.all.live_blocks, "block").text(", ").size(of.all.spare_bytes + of.all.waste_bytes + of.free_bytes);
  text.text(" free, ").size(of.held_bytes).text(" held\n").flush();
}

/// Effects: writes the figures, one a line, then a table of the size classes. Allocates nothing.
ASHLAR_INLINE_FOR_SIZE inline void write_text(const heap_statistics& of, int process, text_output out) {
  detail::text_writer text(out);
  const auto line = [&](std::string_view name, std::size_t bytes) {
    text.text("  ").text(name).size(bytes).text("\n");
  };
  text.text("ashlar: process ").number(process).text("\n");
  line("resident at most   ", peak_resident_bytes());
  line("held from system   ", of.held_bytes);
  line("live               ", of.all.live_bytes);
  line("  of these huge    ", of.huge.live_bytes);
  line("spare in slabs     ", of.all.spare_bytes);
  line("waste in slabs     ", of.all.waste_bytes);
  line("free               ", of.free_bytes);
  line("never used         ", of.fresh_bytes);
  line("headers            ", of.head_bytes);
  line("tables             ", of.table_bytes);
  text.text("  live blocks        ").grouped(of.all.live_blocks).text("\n");
  text.text("  faults avoided     ").grouped(of.page_faults_avoided).text("\n");
  text.text("  bytes: live blocks, spare blocks, slabs\n");
  for_each_class(of, [&](std::size_t bytes, const heap_statistics::share& share) {
    text.text("  ").number(bytes).text(": ").number(share.live_blocks).text(", ").number(share.spare_blocks);
    text.text(", ").number(share.slabs).text("\n");
  });
  text.flush();
}

/// Effects: writes the document of malloc_info: its elements, and the figures that this heap has. Allocates nothing.
ASHLAR_INLINE_FOR_SIZE inline void write_xml(const heap_statistics& of, text_output out) {
  detail::text_writer xml(out);
  const auto total = [&](std::string_view type, std::size_t count, std::size_t bytes) {
    xml.text("<total type=\"").text(type).text("\" count=\"").number(count).text("\" size=\"").number(bytes);
    xml.text("\"/>\n");
  };
  const auto system = [&](std::string_view element, std::string_view type, std::size_t bytes) {
    xml.text("<").text(element).text(" type=\"").text(type).text("\" size=\"").number(bytes).text("\"/>\n");
  };
  xml.text("<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n");
  for_each_class(of, [&](std::size_t bytes, const heap_statistics::share& share) {
    xml.text("<size from=\"").number(bytes).text("\" to=\"").number(bytes).text("\" total=\"");
    xml.number(share.spare_bytes).text("\" count=\"").number(share.spare_blocks).text("\"/>\n");
  });
  xml.text("</sizes>\n");
  total("fast", of.all.spare_blocks, of.all.spare_bytes);
  total("rest", of.segments, of.free_bytes + of.fresh_bytes);
  xml.text("</heap>\n");
  total("fast", of.all.spare_blocks, of.all.spare_bytes);
  total("rest", of.segments, of.free_bytes + of.fresh_bytes);
  total("mmap", of.huge.live_blocks, of.huge.live_bytes);
  system("system", "current", of.held_bytes + of.table_bytes);
  system("aspace", "total", of.held_bytes + of.table_bytes);
  xml.text("</malloc>\n").flush();
}

}  // namespace ashlar::drop_in
