// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread with a growing heap takes a segment of a parked one, or purges it, under its own lock; another adopts that
// one and grows, too; a third stops both for a fork. None waits for a lock while it holds one that another may wait
// for.
#include "heap.hpp"

void model() {
  using namespace models;
  using ashlar::detail::fork_step;
  memory all;
  thread_heaps heaps({.decay_ms = 0}, source(all));
  thread_heap* const first = heaps.adopt();
  thread_heap* const second = heaps.adopt();
  free(second->blocks, take(second->blocks, 2), 2);
  heaps.park(*second);
  all.self = &heaps;
  all.before_growth = [](void* self) noexcept { static_cast<thread_heaps*>(self)->scavenge(); };
  void* of_first = nullptr;
  void* of_second[2] = {};
  checker::run_threads([&] { of_first = take(first->blocks, 1); },
                       [&] {
                         if (heaps.parked() == 0) return;
                         thread_heap* const mine = heaps.adopt();
                         for (void*& each : of_second) each = take(mine->blocks, 2);
                       },
                       [&] {
                         for (const fork_step each :
                              {fork_step::outer_locks, fork_step::inner_locks, fork_step::shared_locks})
                           heaps.before_fork(each);
                         heaps.after_fork_in_parent();
                       });
  free(first->blocks, of_first, 1);
  for (void* const each : of_second) free(second->blocks, each, 2);
}
