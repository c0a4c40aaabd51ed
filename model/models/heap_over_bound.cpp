// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// As much waits for a heap as may: senders unpack their parcels themselves, under its lock, while another thread trims.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  owner_heap heap({.retain_bytes = 0}, source(all));
  void* const cells[] = {take(heap, 1), take(heap, 1)};
  remote_freer freers[2];
  std::size_t trimmed = 0;
  checker::run_threads([&] { free_and_flush(freers[0], cells[0], 1); }, [&] { free_and_flush(freers[1], cells[1], 1); },
                       [&] { trimmed = heap.trim_remote(); });
  checker::check(heap.trim() + trimmed == 2, "both cells have come home");
}
