// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread ends with a packet in transit: once it has drained under the lock, no other thread touches its batcher.
#include "cells.hpp"

void model() {
  using namespace models;
  using batch = batcher<one_packet>;
  pool<batch> p;
  batch first{p.inbox, no_limit};
  batch second{p.inbox, no_limit};
  const auto end = [&](batch& by) {
    p.flush_caches(by);
    checker::check(by.is_idle(), "the batcher may go");
  };
  checker::run_threads([&] { p.free_or_drain(first, 0, 1), p.free_or_drain(first, 2, 2), end(first); },
                       [&] { p.free_or_drain(second, 1, 1), p.free_or_drain(second, 4, 2), end(second); },
                       [&] { p.lock.lock(), p.drain_inbox(), p.lock.unlock(); });
  p.check_arrived(1, 0, 1, 2, 4);
  checker::check(p.inbox.is_empty(), "nothing is left");
}
