// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap ends before its threads, which have noted frees of each other's cells, and one a parcel in transit: no parcel
// is sent to a heap that has ended.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  thread_heaps heaps({}, source(all));
  thread_heap* const first = heaps.adopt();
  thread_heap* const second = heaps.adopt();
  void* const of_first[] = {take(first->blocks, 1), take(first->blocks, 1)};
  void* const of_second = take(second->blocks, 2);
  checker::run_threads(
      [&] {
        free(second->freer, of_first[0], 1);
        second->freer.flush();
        free(second->freer, of_first[1], 1);
      },
      [&] {
        free(first->freer, of_second, 2);
        first->blocks.drain_inbox();
      });
  checker::check(second->freer.noted() == 1 && first->freer.noted() == 1, "what was not sent is noted");
}
