// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Three threads free two words each, so that each sends one packet, while the owner drains.
#include "cells.hpp"

void model() {
  using namespace models;
  using batch = batcher<one_packet>;
  pool<batch> p;
  batch first{p.inbox, no_limit};
  batch second{p.inbox, no_limit};
  batch third{p.inbox, no_limit};
  const auto free_both = [&](batch& by, std::size_t one, std::size_t other) {
    p.free(by, one, 1), p.free(by, other, 1);
  };
  checker::run_threads([&] { free_both(first, 0, 2); }, [&] { free_both(second, 1, 4); },
                       [&] { free_both(third, 3, 5); }, [&] { p.drain_inbox(); });
  p.take_in_with(first);
  p.take_in_with(second);
  p.take_in_with(third);
  p.check_arrived(1, 0, 1, 2, 3, 4, 5);
  checker::check(first.is_idle() && second.is_idle() && third.is_idle(), "all packets come back");
}
