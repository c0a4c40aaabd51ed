// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All blocks are taken back at once while a thread that has used the heap ends, with a noted free of its own.
#include "members.hpp"

void model() {
  using namespace models;
  thread_directory::begin();
  memory all;
  thread_heap_registry heap({}, source(all), nullptr);
  hand<thread_heap_registry> from_user;
  checker::run_threads(
      [&] {
        free(heap, take(heap, 1), 1);
        from_user.give(&heap);  // its uses have happened before
        thread_directory::end_thread();
      },
      [&] {
        if (from_user.take() != nullptr) heap.release();
      });
}
