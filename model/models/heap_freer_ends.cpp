// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A freer ends with one parcel sent and one noted cell, while the owner drains what has arrived or trims: both cells
// come home, and no thread uses the freer afterwards.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  owner_heap heap({}, source(all));
  void* const cells[] = {take(heap, 1), take(heap, 1)};
  std::size_t trimmed = 0;
  checker::mortal<remote_freer> freer;
  checker::run_threads(
      [&] {
        free_and_flush(*freer.operator->(), cells[0], 1);
        free(*freer.operator->(), cells[1], 1);
        freer.end();
      },
      [&] {
        heap.drain_inbox();
        trimmed = heap.trim();
      });
  checker::check(heap.trim() + trimmed == 2, "both cells have come home");
}
