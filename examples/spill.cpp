// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An arena that must not grow after its warm-up: its fallback_monitor counts, reports and finally refuses.
#include <cstddef>
#include <cstdio>

#include <ashlar/adaptor/fallback.hpp>
#include <ashlar/adaptor/fallback_monitor.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using monitor_type = ashlar::fallback_monitor<ashlar::page_resource>;
using frame_memory = ashlar::arena<ashlar::resource_ref<monitor_type>>;

// Returns: whether the frame got all its memory.
bool draw_frame(frame_memory& memory, int things) {
  memory.reset();
  for (int i = 0; i < things; ++i)
    if (memory.try_allocate(100, 8) == nullptr) return false;
  return true;
}

void tell(void*, const ashlar::spill::request& request) noexcept {
  std::printf("  a frame asked for %zu more bytes\n", request.bytes);
}

}  // namespace

int main() {
  monitor_type monitor;
  frame_memory memory({.initial_bytes = 64 * 1024}, ashlar::resource_ref<monitor_type>(monitor));
  for (int frame = 0; frame < 10; ++frame) static_cast<void>(draw_frame(memory, 3000));
  const ashlar::spill::counters warm = monitor.counters();
  std::printf("warming up: %llu requests, the largest of %zu bytes\n", static_cast<unsigned long long>(warm.spills),
              warm.largest);

  monitor.choose(ashlar::spill::action::refuse);  // in development: ashlar::spill::action::end
  bool is_steady = true;
  for (int frame = 0; frame < 1000; ++frame) is_steady = draw_frame(memory, 3000) && is_steady;
  const bool asked_nothing = monitor.counters() == warm;
  const bool is_refused = !draw_frame(memory, 300'000);
  std::printf("a thousand frames: %s; a frame a hundred times as large: %s\n",
              is_steady && asked_nothing ? "not one request" : "spilled", is_refused ? "refused" : "served");

  monitor.call(&tell);
  const bool is_served = draw_frame(memory, 30'000);

  ashlar::fallback<ashlar::inline_buffer<1024>, ashlar::fallback_monitor<ashlar::new_delete_resource>> scratch;
  scratch.deallocate(scratch.allocate(1000, 8), 1000, 8);
  const auto usual = scratch.second().counters().spills;
  scratch.deallocate(scratch.allocate(5000, 8), 5000, 8);
  const auto unusual = scratch.second().counters().spills;
  std::printf("scratch on the stack: %llu spills, then %llu\n", static_cast<unsigned long long>(usual),
              static_cast<unsigned long long>(unusual));
  return is_steady && asked_nothing && is_refused && is_served && usual == 0 && unusual == 1 ? 0 : 1;
}
