// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads end and park their heaps while a third adopts one: none is lost, and none belongs to two threads.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  thread_heaps heaps({}, source(all));
  thread_heap* const made[] = {heaps.adopt(), heaps.adopt()};
  std::size_t adopted = 0;
  checker::run_threads([&] { heaps.park(*made[0]); }, [&] { heaps.park(*made[1]); },
                       [&] {
                         for (int i = 0; i < 2; ++i) {
                           if (heaps.parked() == 0) continue;
                           thread_heap* const mine = heaps.adopt();
                           free(mine->blocks, take(mine->blocks, 1), 1);
                           ++adopted;
                         }
                       });
  checker::check(heaps.parked() == 2 - adopted, "who is parked can be adopted, once");
}
