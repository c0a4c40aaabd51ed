// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread ends and parks its heap, with cached cells and noted frees, while another sends it a cell in a parcel. A
// third adopts this heap or a new one, and uses the cells.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  thread_heaps heaps({}, source(all));
  thread_heap* const first = heaps.adopt();
  void* const for_freer = take(first->blocks, 1);
  owner_heap other({}, source(all));
  void* const of_other = take(other, 2);
  void* cached = nullptr;
  thread_heap* second = nullptr;
  void* of_second[2] = {};
  remote_freer freer;
  checker::run_threads(
      [&] {
        cached = take(first->blocks, 2);
        free(first->blocks, cached, 2);
        free(first->freer, of_other, 2);
        heaps.park(*first);
      },
      [&] { free_and_flush(freer, for_freer, 1); },
      [&] {
        wait_a_moment();
        second = heaps.adopt();
        for (void*& each : of_second) each = take(second->blocks, 3);
      });
  for (void* const each : of_second) free(second->blocks, each, 3);
  checker::check((second == first) == (heaps.parked() == 0), "an adopted heap is no longer parked");
  checker::check(first->freer.noted() == 0, "a parked heap has no noted cells");
  if (second == first) return checker::check(heaps.adopt() != first, "an adopted heap is adopted once");
  const std::size_t cells = cached == for_freer ? 1 : 2;
  checker::check(first->blocks.trim_remote() == cells, "a parked heap gives its cached cells back");
}
