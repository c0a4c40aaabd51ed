// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread frees the cells of three owners in turn: a packet set aside for another owner is continued, sent or handed
// over, and each goes to its own owner.
#include "cells.hpp"

void model() {
  using namespace models;
  constexpr batch_shape shape{.packets = 4, .words = 2, .slot_count = 2};
  using batch = batcher<shape>;
  pool<batch> owners[3];
  batch by{no_limit};
  const auto number_of = [](std::uintptr_t key) {
    return key == pool<batch>::key_of(0) ? 0 : key == pool<batch>::key_of(2) ? 1 : 2;
  };
  const auto route = [&](std::uintptr_t key) -> auto& { return owners[number_of(key)].inbox; };
  const auto free = [&](std::size_t index) {
    const std::uintptr_t key = pool<batch>::key_of(index);
    owners[number_of(key)].cells[index].content = 1;
    checker::check(by.add(key, pool<batch>::bit_of(index), route) == batch_result::noted, "there are packets for all");
    checker::check(by.invariant(), "the batcher holds together");
  };
  checker::run_threads(
      [&] {
        free(0), free(2), free(1), free(4);
        checker::check(by.flush(route) && by.noted() == 0, "a flush leaves nothing behind");
      },
      [&] { owners[0].drain_inbox(); });
  for (auto& each : owners) each.drain_inbox();
  free(0), free(2), free(4), free(5), free(3);
  for (auto& each : owners) each.drain_inbox();
  by.hand_over([&](const freed_word& word) { owners[number_of(word.key)].arrive(word); });
  owners[0].check_arrived(2, 0);
  owners[0].check_arrived(1, 1);
  owners[1].check_arrived(2, 2);
  owners[1].check_arrived(1, 3);
  owners[2].check_arrived(2, 4);
  owners[2].check_arrived(1, 5);
  checker::check(by.is_idle(), "all packets come back");
}
