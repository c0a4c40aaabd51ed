// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads use a heap after their end, as thread-local destructors may: the common heap serves both under its lock,
// and their frees go back at once.
#include "members.hpp"

void model() {
  using namespace models;
  thread_directory::begin();
  memory all;
  thread_heap_registry heap({}, source(all), nullptr);
  thread_directory::end_thread();
  void* before[3] = {};
  for (void*& each : before) each = take(heap, 3);
  for (void* const each : before) free(heap, each, 3);
  hand<void> block;
  checker::run_threads(
      [&] {
        thread_directory::end_thread();
        wait_a_moment();
        block.give(take(heap, 1));
        free(heap, take(heap, 1), 1);
      },
      [&] {
        thread_directory::end_thread();
        wait_a_moment();
        free(heap, take(heap, 2), 2);
        if (void* const other = block.take(); other != nullptr) free(heap, other, 1);
      });
}
