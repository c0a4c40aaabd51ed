// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An owner hands out cells of a parcel, and a stranger drains parcels, while a third thread sends two.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  owner_heap heap({}, source(all));
  void* const cells[] = {take(heap, 1), take(heap, 1), take(heap, 1)};
  remote_freer freer;
  void* taken[2] = {};
  checker::run_threads(
      [&] {
        free(freer, cells[0], 1);
        free_and_flush(freer, cells[1], 1);
        free_and_flush(freer, cells[2], 1);
      },
      [&] {
        for (void*& each : taken) each = take(heap, 2);
      },
      [&] { heap.drain_inbox(); });
  for (void* const each : taken) free(heap, each, 2);
  checker::check(heap.trim() >= 3, "all cells come home");
}
