// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads with one packet each, and no owner: a thread without a free packet drains the inbox, under the lock.
#include "cells.hpp"

void model() {
  using namespace models;
  using batch = batcher<one_packet>;
  pool<batch> p;
  batch first{p.inbox, no_limit};
  batch second{p.inbox, no_limit};
  checker::run_threads(
      [&] { p.free_or_drain(first, 0, 1), p.free_or_drain(first, 2, 2), p.free_or_drain(first, 4, 3); },
      [&] { p.free_or_drain(second, 1, 1), p.free_or_drain(second, 3, 2), p.free_or_drain(second, 5, 3); });
  p.take_in_with(first);
  p.take_in_with(second);
  p.check_arrived(1, 0, 1, 2, 3, 4, 5);
}
