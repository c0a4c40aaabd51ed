// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pool closes while two threads still send: drained frees arrive, others are dropped, and every packet comes back.
#include "cells.hpp"

void model() {
  using namespace models;
  using batch = batcher<one_packet>;
  pool<batch> p;
  batch first{p.inbox, no_limit};
  batch second{p.inbox, no_limit};
  checker::run_threads([&] { (void)(p.free(first, 0, 1) && p.free(first, 2, 2)); },
                       [&] { (void)(p.free(second, 1, 1) && p.free(second, 4, 2) && second.flush()); },
                       [&] {
                         for (auto* each = p.inbox.close(); each != nullptr;) {
                           auto* const next = static_cast<decltype(each)>(each->next);
                           p.arrive(each->words[0]);
                           each->give_back();
                           each = next;
                         }
                       });
  for (const cell& each : p.cells) checker::check(each.arrived <= 1, "no cell arrives twice");
  checker::check(first.flush() && second.flush(), "a closed inbox takes no packet away");
  checker::check(first.is_idle() && second.is_idle(), "all packets come back");
}
