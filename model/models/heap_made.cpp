// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads get a thread heap each while a third visits all thread heaps: none is lost, and each visited one is
// complete.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  thread_heaps heaps({}, source(all));
  thread_heap* made[2] = {};
  checker::run_threads([&] { made[0] = heaps.adopt(); }, [&] { made[1] = heaps.adopt(); },
                       [&] { heaps.for_each([](thread_heap& each) { (void)each.blocks.trim_remote(); }); });
  checker::check(made[0] != made[1], "a heap is one thread's at a time");
  int count = 0;
  heaps.for_each([&](thread_heap&) { ++count; });
  checker::check(count == 2, "no heap is lost");
}
