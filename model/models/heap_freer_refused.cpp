// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A freer has sent all its packets to an owner that may drain them: a cell whose slot holds another word goes back
// under the lock, with all noted frees.
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
  free(heap, cells[10], 1);
  checker::run_threads(
      [&] {
        free(freer, cells[0], 1);
        free(freer, cells[8], 1);  // shares a slot with the former one
      },
      [&] { heap.drain_inbox(); });
  freer.leave();
  checker::check(heap.trim() == memory::cells, "all cells come home");
}
