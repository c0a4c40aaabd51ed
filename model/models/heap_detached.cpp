// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread detaches its heap, and later frees a block of it, when the heap is parked or adopted by another thread that
// frees its blocks as its own. Then both end.
#include "members.hpp"

void model() {
  using namespace models;
  thread_directory::begin();
  memory all;
  thread_heap_registry heap({}, source(all), nullptr);
  void* blocks[2] = {};
  hand<thread_heap_registry::thread_heap> token;
  checker::run_threads(
      [&] {
        for (void*& each : blocks) each = take(heap, 1);
        token.give(heap.detach());
        free(heap, blocks[0], 1);
        thread_directory::end_thread();
      },
      [&] {
        thread_heap_registry::thread_heap* const adopted = token.take();
        if (adopted == nullptr) return;
        checker::check(heap.adopt(adopted) == nullptr, "who has nothing leaves nothing");
        free(heap, blocks[1], 1);
        void* const mine = take(heap, 2);
        free(heap, mine, 2);
        thread_directory::end_thread();
      });
  if (thread_heap_registry::thread_heap* const left = token.take(); left != nullptr) heap.park(*left);
}
