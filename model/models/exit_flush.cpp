// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads free and flush before they end: sent frees arrive, and a successful flush leaves none behind.
#include "cells.hpp"

void model() {
  using namespace models;
  constexpr batch_shape shape{.packets = 2, .words = 2, .slot_count = 2};
  using batch = batcher<shape>;
  pool<batch> p;
  batch first{p.inbox, no_limit};
  batch second{p.inbox, no_limit};
  const auto flush = [&](batch& by) {
    checker::check(by.flush(), "with packets at hand a flush succeeds");
    checker::check(by.noted() == 0 && by.invariant(), "a flush leaves nothing behind");
  };
  checker::run_threads([&] { p.free(first, 0, 1), p.free(first, 1, 2), p.free(first, 6, 3), flush(first); },
                       [&] { p.free(second, 2, 1), flush(second); },
                       [&] {
                         p.drain_inbox();
                         p.drain_inbox();
                       });
  p.drain_inbox();
  p.check_arrived(1, 0, 1, 2, 6);
  checker::check(first.is_idle() && second.is_idle(), "all packets come back");
}
