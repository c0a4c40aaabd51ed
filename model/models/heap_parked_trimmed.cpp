// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread ends and parks its heap with a cached cell, while another trims the heap, and a third adopts and uses it.
// The thread cache belongs to the owner, or to the lock where there is none.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  thread_heaps heaps({}, source(all));
  thread_heap* const first = heaps.adopt();
  void* cell = nullptr;  // a free of one of the first four, at sampled addresses, would take the lock
  for (int i = 0; i < 5; ++i) cell = take(first->blocks, 1);
  std::size_t trimmed = 0;
  bool is_adopted = false;
  checker::run_threads(
      [&] {
        free(first->blocks, cell, 1);
        heaps.park(*first);
      },
      [&] { trimmed = first->blocks.trim_remote(); },
      [&] {
        if (heaps.parked() == 0) return;
        thread_heap* const mine = heaps.adopt();
        is_adopted = true;
        free(mine->blocks, take(mine->blocks, 2), 2);
      });
  if (is_adopted) heaps.park(*first);
  trimmed += first->blocks.trim_remote();
  checker::check(is_adopted ? trimmed != 0 : trimmed == 1, "a parked heap gives its cached cells back");
}
