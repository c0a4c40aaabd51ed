// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An owner drains, parks its record under a lock and ends; another thread adopts the record, while producers push.
#include "nodes.hpp"

void model() {
  using namespace models;
  node stray;
  node a{&stray}, b{&stray}, c{&stray};
  inbox in;
  checker::mutex parked_lock;
  checker::atomics::plain<bool> is_parked = false;
  checker::atomics::plain<int> drained = 0;  // private to the current owner
  const auto drain = [&] { drained = drained + count_taken(in.take_all(), stray); };
  checker::run_threads([&] { (void)write_and_push(in, a, 1), (void)write_and_push(in, b, 2); },
                       [&] { (void)write_and_push(in, c, 3); },
                       [&] {
                         drain();
                         parked_lock.lock();
                         is_parked = true;
                         parked_lock.unlock();
                       },
                       [&] {
                         parked_lock.lock();
                         const bool is_mine = is_parked;
                         parked_lock.unlock();
                         if (is_mine) drain();
                       });
  drain();
  check_taken(1, a, b, c);
  checker::check(drained == 3, "the adopter goes on where the owner stopped");
}
