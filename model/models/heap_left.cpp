// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread frees one of its blocks after its end, when its heap is parked, or adopted by another thread that uses it.
#include "members.hpp"

void model() {
  using namespace models;
  thread_directory::begin();
  memory all;
  thread_heap_registry heap({}, source(all), nullptr);
  checker::run_threads(
      [&] {
        void* const left = take(heap, 1);
        thread_directory::end_thread();
        free(heap, left, 1);
      },
      [&] {
        void* const mine = take(heap, 2);
        free(heap, mine, 2);
      });
}
