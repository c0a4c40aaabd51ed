// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All blocks are taken back at once while a thread ends that has freed a block of another and not sent it: no parcel
// arrives at a released heap.
#include "members.hpp"

void model() {
  using namespace models;
  thread_directory::begin();
  memory all;
  thread_heap_registry heap({}, source(all), nullptr);
  void* const block = take(heap, 3);  // of a thread that stays
  hand<thread_heap_registry> from_user;
  bool is_released = false;
  checker::run_threads(
      [&] {
        free(heap, block, 3);
        from_user.give(&heap);  // its uses have happened before
        thread_directory::end_thread();
      },
      [&] {
        is_released = from_user.take() != nullptr;
        if (is_released) heap.release();
      });
  bool is_drained = true;
  heap.for_each_part([&](const auto& part, auto) { is_drained = is_drained && !part.has_arrivals(); });
  checker::check(!is_released || is_drained, "no parcel arrives at a released heap");
  checker::check(is_released || !is_drained, "a thread sends its parcels as it ends");
}
