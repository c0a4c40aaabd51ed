// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packets of two words: sent when full, sent half full by the flush, and handed over while they are filled.
#include "cells.hpp"

void model() {
  using namespace models;
  constexpr batch_shape shape{.packets = 1, .words = 2, .slot_count = 2};
  using batch = batcher<shape>;
  pool<batch> p;
  batch first{p.inbox, no_limit};
  batch second{p.inbox, no_limit};
  const auto free_or_keep = [&](std::size_t index) {
    if (!p.free(first, index, 1)) p.arrive(index);
  };
  checker::run_threads(
      [&] {
        free_or_keep(0), free_or_keep(2), free_or_keep(4);
        (void)first.flush();
        free_or_keep(6);
      },
      [&] { p.free(second, 1, 1), p.free(second, 3, 2); },
      [&] {
        p.drain_inbox();
        p.drain_inbox();
      });
  checker::check(second.noted() == 2, "what was not sent is noted");
  p.take_in_with(first);
  p.take_in_with(second);
  p.check_arrived(1, 0, 1, 2, 3, 4, 6);
  checker::check(first.is_idle() && second.is_idle(), "all packets come back");
}
