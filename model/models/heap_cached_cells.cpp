// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An owner takes cached cells and cells behind the lock. One thread sends a cell in a parcel; another drains it and
// trims. Each writes to its cells, the last one to those that go.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  owner_heap heap({}, source(all));
  remote_freer freer;
  hand<void> to_freer;
  void* kept[2] = {};
  checker::run_threads(
      [&] {
        to_freer.give(take(heap, 1));
        free(heap, take(heap, 1), 1);
        kept[0] = take(heap, 1);  // the cached one
        kept[1] = take(heap, 1);  // the other one, if it has come back
      },
      [&] {
        void* const mine = to_freer.take();
        if (mine == nullptr) return;
        free_and_flush(freer, mine, 1);
      },
      [&] { (void)heap.trim_remote(); });
  if (void* const left = to_freer.take()) free(heap, left, 1);
  for (void* const each : kept) free(heap, each, 1);
  checker::check(freer.noted() == 0, "all that was freed was sent");
}
