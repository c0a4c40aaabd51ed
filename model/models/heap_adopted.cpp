// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread ends; the next one adopts its heap. That thread frees a block of it: as its own after the adoption, else by
// a parcel.
#include "members.hpp"

void model() {
  using namespace models;
  thread_directory::begin();
  memory all;
  thread_heap_registry heap({}, source(all), nullptr);
  hand<void> block;
  checker::run_threads(
      [&] {
        block.give(take(heap, 1));
        free(heap, take(heap, 1), 1);
        thread_directory::end_thread();
      },
      [&] {
        void* const mine = block.take();
        if (mine == nullptr) return;
        free(heap, take(heap, 2), 2);
        free(heap, mine, 1);
        thread_directory::end_thread();
      });
  checker::check(heap.parked() != 0, "what a thread had is parked");
}
