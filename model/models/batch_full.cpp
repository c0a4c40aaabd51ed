// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads free more words than their batchers have slots, so that full packets are sent while the owner drains.
#include "cells.hpp"

void model() {
  using namespace models;
  using batch = batcher<one_packet>;
  pool<batch> p;
  batch first{p.inbox, no_limit};
  batch second{p.inbox, no_limit};
  checker::run_threads(
      [&] {
        p.free(first, 0, 1), p.free(first, 2, 2);
        checker::check(first.noted() == 1, "a full packet is sent at once");
      },
      [&] { p.free(second, 1, 1), p.free(second, 4, 2); }, [&] { p.drain_inbox(); });
  checker::check(first.invariant() && second.invariant(), "the batchers hold together");
  p.take_in_with(first);
  p.take_in_with(second);
  p.check_arrived(1, 0, 1, 2, 4);
  checker::check(first.is_idle() && second.is_idle(), "all packets come back");
}
