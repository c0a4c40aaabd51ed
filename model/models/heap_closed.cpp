// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap ends while a thread that has used it ends: one of them ends the thread's part, and no thread touches the
// ended heap.
#include "members.hpp"

void model() {
  using namespace models;
  thread_directory::begin();
  memory all;
  alignas(thread_heap_registry) std::byte room[sizeof(thread_heap_registry)];
  auto* const heap = ::new (static_cast<void*>(room)) thread_heap_registry({}, source(all), nullptr);
  hand<thread_heap_registry> from_user;
  bool is_ended = false;
  checker::run_threads(
      [&] {
        free(*heap, take(*heap, 1), 1);
        from_user.give(heap);  // its uses have happened before the end of the heap
        thread_directory::end_thread();
      },
      [&] {
        is_ended = from_user.take() != nullptr;
        if (is_ended) heap->~thread_heap_registry();
      });
  if (!is_ended) heap->~thread_heap_registry();
}
