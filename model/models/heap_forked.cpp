// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread has sent one parcel and fills another as a second one forks: the child, without the first thread, finds the
// parcel that was sent whole, and reads none that was not.
#include "heap.hpp"

void model() {
  using namespace models;
  using ashlar::detail::fork_step;
  memory all;
  thread_heaps heaps({}, source(all));
  thread_heap* const mine = heaps.adopt();
  thread_heap* const of_other = heaps.adopt();
  void* const cells[] = {take(mine->blocks, 1), take(mine->blocks, 1)};
  std::size_t trimmed = 0;
  checker::run_threads(
      [&] {
        free_and_flush(of_other->freer, cells[0], 1);
        free(of_other->freer, cells[1], 1);
      },
      [&] {
        for (const fork_step each : {fork_step::outer_locks, fork_step::inner_locks, fork_step::shared_locks})
          heaps.before_fork(each);
        heaps.after_fork_in_child(mine);
        trimmed = mine->blocks.trim();
      });
  checker::check(trimmed + mine->blocks.trim() == 1, "what was sent arrives, and what was not stays taken");
}
