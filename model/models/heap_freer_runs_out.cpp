// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A freer has sent all its packets to an owner that may drain them: flushed frees go back under the lock.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  owner_heap heap({}, source(all));
  remote_freer freer;
  void* cells[memory::cells] = {};
  for (void*& each : cells) each = take(heap, 1);
  for (std::size_t i = 1; i < 8; ++i) free_and_flush(freer, cells[i], 1);
  free_and_flush(freer, cells[9], 1);
  free(heap, cells[8], 1);
  checker::run_threads(
      [&] {
        free(freer, cells[0], 1);
        free(freer, cells[10], 1);
        freer.flush();
        checker::check(freer.noted() == 0, "a flush leaves nothing behind");
      },
      [&] { heap.drain_inbox(); });
  freer.leave();
  checker::check(heap.trim() == memory::cells, "all cells come home");
}
