// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread detaches its heap, with cached cells and noted frees. Another adopts it and parks its own, which a third
// finds: `detach` and `adopt` of `heap`, on thread heaps.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  thread_heaps heaps({}, source(all));
  thread_heap* const first = heaps.adopt();
  thread_heap* const second = heaps.adopt();
  void* const of_second = take(second->blocks, 2);
  void* const of_first = take(first->blocks, 1);
  hand<thread_heap> token;
  bool is_adopted = false;
  checker::run_threads(
      [&] {
        free(first->freer, of_second, 2);
        free(first->blocks, take(first->blocks, 1), 1);
        first->freer.flush();
        token.give(first);
      },
      [&] {
        thread_heap* const adopted = token.take();
        free(second->blocks, take(second->blocks, 2), 2);
        if (adopted == nullptr) return;
        is_adopted = true;
        heaps.park(*second);
        free(adopted->blocks, of_first, 1);  // as its own
        free(adopted->blocks, take(adopted->blocks, 1), 1);
      },
      [&] {
        if (heaps.parked() == 0) return;
        thread_heap* const mine = heaps.adopt();
        for (int i = 0; i < 2; ++i) hold(mine->blocks.try_allocate(16), 3);
      });
  checker::check(is_adopted || token.take() == first, "a token is taken once");
  checker::check(first->freer.noted() == 0, "what was noted before the hand-over was sent");
}
