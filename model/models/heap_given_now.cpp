// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads free blocks at once, without a wait for the lock of their owner, which a third one holds for a while.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  owner_heap heap({}, source(all));
  void* const cells[] = {take(heap, 1), take(heap, 1)};
  std::size_t trimmed = 0;
  const auto give = [&](void* cell) {
    release_cell(cell, 1);
    heap.free_remote(cell);
  };
  checker::run_threads([&] { give(cells[0]); }, [&] { give(cells[1]); }, [&] { trimmed = heap.trim_remote(); });
  checker::check(heap.trim() + trimmed == 2, "both cells have come home");
}
