// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread frees the cells of two owners in turn: each packet holds cells of one owner, and goes to it.
#include "cells.hpp"

void model() {
  using namespace models;
  constexpr batch_shape shape{.packets = 2, .words = 2, .slot_count = 2};
  using batch = batcher<shape>;
  pool<batch> left;
  pool<batch> right;
  batch by{no_limit};
  const auto owner_of = [&](std::uintptr_t key) -> auto& {
    return (key == pool<batch>::key_of(2) ? right : left).inbox;
  };
  const auto free = [&](pool<batch>& owner, std::size_t index) {
    owner.cells[index].content = 1;
    const batch_result said = by.add(pool<batch>::key_of(index), pool<batch>::bit_of(index), owner_of);
    if (said != batch_result::noted) owner.arrive(index);
  };
  checker::run_threads([&] { free(left, 0), free(right, 2), free(left, 4), (void)by.flush(owner_of); },
                       [&] { left.drain_inbox(); }, [&] { right.drain_inbox(); });
  left.drain_inbox();
  right.drain_inbox();
  by.hand_over([&](const freed_word& word) { (word.key == pool<batch>::key_of(2) ? right : left).arrive(word); });
  left.check_arrived(1, 0, 4);
  left.check_arrived(0, 2);
  right.check_arrived(1, 2);
  right.check_arrived(0, 0, 4);
  checker::check(by.is_idle(), "all packets come back");
}
