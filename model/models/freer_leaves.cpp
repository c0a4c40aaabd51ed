// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A freer sends its frees and drains their inbox once, under the lock: then all packets are back, although
// other threads may drain meanwhile, and the freer may end.
#include "cells.hpp"

void model() {
  using namespace models;
  using batch = batcher<batch_shape{.packets = 2, .words = 1, .slot_count = 2}>;
  pool<batch> p;
  batch leaving{p.inbox, no_limit};
  checker::run_threads(
      [&] {
        p.free_or_drain(leaving, 0, 1);
        p.free_or_drain(leaving, 2, 2);
        if (!leaving.flush()) p.flush_caches(leaving);
        p.lock.lock();
        p.drain_inbox();
        p.lock.unlock();
        checker::check(leaving.is_idle(), "whoever took packets out gives them back before the lock is free");
      },
      [&] {
        p.lock.lock();
        p.drain_inbox();
        p.lock.unlock();
      });
  p.check_arrived(1, 0, 2);
}
