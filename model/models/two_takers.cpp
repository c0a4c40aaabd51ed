// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads drain the same inbox, each under the pool's lock, while a third pushes; one of the two pushes as well.
#include "nodes.hpp"

void model() {
  using namespace models;
  node stray;
  node a{&stray}, b{&stray}, c{&stray};
  inbox in;
  checker::mutex pool_lock;
  checker::atomics::plain<int> free_cells = 0;  // the pool's, under its lock
  const auto drain = [&] {
    pool_lock.lock();
    free_cells = free_cells + count_taken(in.take_all(), stray);
    pool_lock.unlock();
  };
  checker::run_threads([&] { (void)write_and_push(in, a, 1), (void)write_and_push(in, b, 2); },
                       [&] { (void)write_and_push(in, c, 3), drain(); }, [&] { drain(); });
  drain();
  check_taken(1, a, b, c);
  checker::check(free_cells == 3, "no node is lost");
}
