// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The owner hands arrived cells to another thread, which uses them and frees them again, by its own batcher.
#include "cells.hpp"

void model() {
  using namespace models;
  using batch = batcher<one_packet>;
  pool<batch> p;
  batch first{p.inbox, no_limit};
  batch second{p.inbox, no_limit};
  checker::mutex hand;
  checker::atomics::plain<bool> is_handed_out = false;
  bool is_freed_again = false;
  checker::run_threads([&] { (void)(p.free(first, 0, 1) && first.flush() && p.free(first, 2, 2) && first.flush()); },
                       [&] {
                         p.drain_inbox();
                         if (p.cells[0].arrived == 1) hand.lock(), is_handed_out = true, hand.unlock();
                         p.drain_inbox();
                       },
                       [&] {
                         hand.lock();
                         is_freed_again = is_handed_out;
                         hand.unlock();
                         if (is_freed_again) (void)(p.free(second, 0, 3) && second.flush());
                       });
  p.take_in_with(first);
  p.take_in_with(second);
  p.check_arrived(is_freed_again ? 2 : 1, 0);
  p.check_arrived(1, 2);
  checker::check(p.cells[0].content == (is_freed_again ? 103 : 101), "what was written last is what is found");
}
