// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread sends two packets in turn, each as often as the owner returns it in time.
#include "cells.hpp"

void model() {
  using namespace models;
  constexpr batch_shape shape{.packets = 2, .words = 1, .slot_count = 2};
  using batch = batcher<shape>;
  pool<batch> p;
  batch by{p.inbox, no_limit};
  const auto free_or_keep = [&](std::size_t index) {
    if (!p.free(by, index, 1)) p.arrive(index);
  };
  checker::run_threads(
      [&] {
        free_or_keep(0), free_or_keep(2), free_or_keep(4), free_or_keep(1);
        checker::check(by.invariant(), "the batcher holds together");
      },
      [&] {
        p.drain_inbox();
        p.drain_inbox();
        p.drain_inbox();
      });
  p.take_in_with(by);
  p.check_arrived(1, 0, 1, 2, 4);
  checker::check(by.is_idle(), "all packets come back");
}
