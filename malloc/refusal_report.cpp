// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the largest holders of a heap.
#include <array>
#include <cerrno>
#include <cstddef>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/text_writer.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "malloc/error_stream.hpp"
#include "malloc/heap_blocks.hpp"
#include "malloc/heap_profile.hpp"
#include "malloc/settings.hpp"
#include "malloc/system.hpp"

namespace ashlar::drop_in {

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
