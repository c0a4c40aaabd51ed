// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two batchers may hold one free each: the next free sends all, or is refused and kept.
#include "cells.hpp"

void model() {
  using namespace models;
  using batch = batcher<one_packet>;
  constexpr std::size_t most_held = 1;
  pool<batch> p;
  batch first{p.inbox, most_held};
  batch second{p.inbox, most_held};
  const auto free_or_keep = [&](batch& by, std::size_t index) {
    if (!p.free(by, index, 1)) p.arrive(index);
    checker::check(by.noted() <= most_held, "no more is held than allowed");
    checker::check(by.invariant(), "the batcher holds together");
  };
  checker::run_threads([&] { free_or_keep(first, 0), free_or_keep(first, 1), free_or_keep(first, 6); },
                       [&] { free_or_keep(second, 2), free_or_keep(second, 3); }, [&] { p.drain_inbox(); });
  p.take_in_with(first);
  p.take_in_with(second);
  p.check_arrived(1, 0, 1, 2, 3, 6);
}
