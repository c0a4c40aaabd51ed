// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of glibc that report on a heap or tune it: malloc_trim, malloc_stats, malloc_info, mallinfo, mallopt.
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include <malloc.h>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/text_writer.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "malloc/error_stream.hpp"
#include "malloc/export.hpp"
#include "malloc/heap_blocks.hpp"
#include "malloc/heap_profile.hpp"
#include "malloc/loaded_files.hpp"
#include "malloc/settings.hpp"
#include "malloc/system.hpp"

namespace ashlar::drop_in {

/// Effects: calls `f(cell_bytes, share)` for each size class with a slab.
template <class F>
ASHLAR_INLINE_FOR_SIZE inline void for_each_class(const heap_statistics& of, F f) {
  for (std::size_t size_class = 1; size_class <= detail::size_classes::count; ++size_class)
    if (of.of_class[size_class].slabs != 0) f(detail::size_classes::bytes_of(size_class), of.of_class[size_class]);
}

/// Returns: bytes of the process that were resident at once; 0 if the system does not tell. `ru_maxrss` would count
/// the program before an exec too.
[[nodiscard]] inline std::size_t peak_resident_bytes() noexcept {
  return status_fields("/proc/self/status", {"VmHWM:"}).front();
}

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

namespace {

void write_statistics(const heap_statistics& now, int descriptor, bool with_classes) noexcept {
  text_output out = output_to(descriptor);
  with_classes ? write_text(now, process_id(), out)
               : write_line(now, process_id(), ::program_invocation_short_name, out);
}

[[nodiscard]] int clipped(std::size_t bytes) noexcept {
  return static_cast<int>(detail::min<std::size_t>(bytes, INT_MAX));
}

template <class Info, class F>
[[nodiscard]] ASHLAR_INLINE Info figures_as(F as) noexcept {
  const heap_statistics now = statistics_of(process_heap());
  const std::size_t huge = now.huge.live_bytes;
  Info info = {};
  info.arena = as(now.held_bytes - huge);
  info.ordblks = as(now.all.spare_blocks);
  info.hblks = as(now.huge.live_blocks);
  info.hblkhd = as(huge);
  info.uordblks = as(now.all.live_bytes - huge);
  info.fordblks = as(now.free_bytes + now.fresh_bytes + now.all.spare_bytes);
  info.keepcost = as(now.free_bytes);
  return info;
}

// As in glibc, a negative number of bytes is more than there are: no free memory goes back by itself.
[[nodiscard]] bool set_trim_threshold(int bytes) noexcept {
  const std::size_t retained = bytes < 0 ? ashlar::max_size : static_cast<std::size_t>(bytes);
  return retain_at_most(retained) == word_result::set;
}

// The last destructor to run, as its library is the first to be initialised; of a static program the last one too. A
// copy of the library that another one stands in front of has served nothing, and keeps silent.
__attribute__((destructor(101))) void write_at_exit() noexcept {
  if (!settings().writes_statistics && !heap_profile::is_on()) return;
  const heap_statistics now = statistics_of(process_heap());
  if (now.held_bytes == 0) return;
  if (settings().writes_statistics) write_statistics(now, kept_error_stream(), settings().writes_classes);
  if (heap_profile::is_on()) write_wanted_profile();
}

}  // namespace

// ---- the largest holders of memory, when the option `max` first refuses

namespace {

using share = heap_statistics::share;
using holders = std::array<const share*, 5>;  // null: no more

constinit detail::atomic<bool> is_reported = false;

// The least that a heap takes of the system at once, but for its first part.
[[nodiscard]] bool exceeds(std::size_t most, std::size_t held, std::size_t bytes) noexcept {
  return detail::max(bytes, detail::segment_bytes) > most - detail::min(most, held);
}

void insert(holders& into, const share& more) noexcept {
  const share* moved = &more;
  for (const share*& each : into)
    if (moved != nullptr && moved->live_bytes > (each != nullptr ? each->live_bytes : 0)) {
      const share* const next = each;
      each = moved;
      moved = next;
    }
}

[[nodiscard]] holders largest_of(const heap_statistics& of) noexcept {
  holders most = {};
  for (const share& each : of.of_class) insert(most, each);
  insert(most, of.spans);
  insert(most, of.huge);
  return most;
}

void write_holder(detail::text_writer<text_output>& text, const heap_statistics& of, const share& each) {
  text.text("  ").size(each.live_bytes).text(" live in ");
  text.counted(each.live_blocks, &each == &of.huge ? "larger block" : "block");
  if (&each == &of.huge) text.text("\n");
  else if (&each == &of.spans) text.text(" above ").size(detail::size_classes::largest).text("\n");
  else {
    const auto size_class = static_cast<std::size_t>(&each - of.of_class.data());
    text.text(" of ").counted(detail::size_classes::bytes_of(size_class), "byte").text("\n");
  }
}

void write_holders(const heap_statistics& of, std::size_t bytes) {
  int error_stream = kept_error_stream();
  text_output out = output_to(error_stream);
  detail::text_writer text(out);
  text.text("ashlar: max: process ").number(process_id()).text(" is refused ").size(bytes).text(": of ");
  text.size(settings().max_bytes).text(" are held ").size(of.held_bytes).text(", live ").size(of.all.live_bytes);
  text.text("\n");
  for (const share* each : largest_of(of))
    if (each != nullptr) write_holder(text, of, *each);
  text.flush();
}

ASHLAR_COLD void report_refusal(std::size_t bytes) noexcept {
  if (!exceeds(settings().max_bytes, process_heap().held_bytes(), bytes)) return;
  if (is_reported.exchange(true, detail::memory_order_relaxed)) return;
  write_holders(statistics_of(process_heap()), bytes);
  heap_profile::write_holders();
}

}  // namespace

ASHLAR_COLD void* refuse_memory(std::size_t bytes) noexcept {
  if (settings().reports_refusal) report_refusal(bytes);
  return refuse(ENOMEM);
}

}  // namespace ashlar::drop_in

namespace drop_in = ashlar::drop_in;

extern "C" {

/// Returns: 1 if memory went back to the system, else 0.
ASHLAR_EXPORT int malloc_trim(std::size_t retain_bytes) noexcept {
  return ashlar::process_heap().trim(retain_bytes) != 0 ? 1 : 0;
}

ASHLAR_EXPORT void malloc_stats() noexcept {
  drop_in::write_statistics(statistics_of(ashlar::process_heap()), 2, true);
}

ASHLAR_EXPORT int malloc_info(int options, std::FILE* stream) noexcept {
  if (options != 0) return EINVAL;
  const ashlar::heap_statistics now = statistics_of(ashlar::process_heap());  // a write to a stream may allocate
  const auto write = [](const char* text, std::size_t bytes, void* to) {
    std::fwrite(text, 1, bytes, static_cast<std::FILE*>(to));
  };
  drop_in::write_xml(now, {write, stream});
  return 0;
}

/// Live and free bytes are `uordblks` and `fordblks`; of blocks with pages of their own, `hblks` and `hblkhd`.
ASHLAR_EXPORT struct mallinfo2 mallinfo2() noexcept {
  return drop_in::figures_as<struct mallinfo2>([](std::size_t figure) { return figure; });
}

/// As mallinfo2; figures above `INT_MAX` are `INT_MAX`, where glibc wraps around.
ASHLAR_EXPORT struct mallinfo mallinfo() noexcept { return drop_in::figures_as<struct mallinfo>(drop_in::clipped); }

/// Returns: 1, also for parameters without a meaning here; 0 for a value that none can have, and without memory.
ASHLAR_EXPORT int mallopt(int parameter, int value) noexcept {
  if (parameter == M_TRIM_THRESHOLD) return drop_in::set_trim_threshold(value) ? 1 : 0;
  return parameter == M_MXFAST && (value < 0 || value > 80 * static_cast<int>(sizeof(std::size_t)) / 4) ? 0 : 1;
}

ASHLAR_EXPORT_AS("mallinfo") struct mallinfo __libc_mallinfo() noexcept;
ASHLAR_EXPORT_AS("mallopt") int __libc_mallopt(int parameter, int value) noexcept;

}  // extern "C"
