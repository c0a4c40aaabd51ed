// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An owner takes cells, hot ones and such as it finds under the lock; one thread frees what it was handed, by a packet,
// and another takes in and gives memory away. Each writes to the cells that it has, the last one to those that go.
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
        kept[0] = take(heap, 1);  // the hot one
        kept[1] = take(heap, 1);  // the other, where it has come back
      },
      [&] {
        void* const mine = to_freer.take();
        if (mine == nullptr) return;
        free_and_flush(freer, mine, 1);
      },
      [&] { (void)heap.trim_remote(); });
  if (void* const left = to_freer.take()) free(heap, left, 1);
  for (void* const each : kept) free(heap, each, 1);
  freer.leave();
  checker::check(freer.noted() == 0 && heap.inbox().is_empty(), "all that was freed has arrived");
}
