// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads use a heap for the first time: both find the one link to the tables of threads, and get a thread heap
// each.
#include "members.hpp"

void model() {
  using namespace models;
  thread_directory::begin();
  memory all;
  thread_heap_registry heap({}, source(all), nullptr);
  thread_heap_registry::thread_heap* mine[2] = {};
  checker::run_threads([&] { mine[0] = heap.find_or_attach(); }, [&] { mine[1] = heap.find_or_attach(); });
  checker::check(mine[0] != mine[1] && mine[0] != nullptr && mine[1] != nullptr, "each thread has its own");
}
