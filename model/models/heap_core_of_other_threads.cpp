// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread makes every call of a non-owner on a core, while the owner refills its thread cache.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  ashlar::detail::owner_core<source> core({}, source(all), nullptr);
  ashlar::detail::free_lists lists;
  void* cells[4] = {};
  for (void*& each : cells) each = core.take_cell(1, lists);
  ashlar::detail::heap_batcher freer(1);
  const auto send = [&](void* cell) {
    const auto route = [&](std::uintptr_t) -> auto& { return core.inbox(); };
    (void)freer.add(ashlar::detail::word_of_cell(cell).key, 1, route);
    (void)freer.flush(route);
  };
  checker::run_threads(
      [&] {
        core.give_now(cells[0]);
        core.give_now(ashlar::detail::word_of_cell(cells[1]));
        (void)core.trim_excluding_cache(0);
        core.for_each_live_behind([](void*, std::size_t) {});
        core.inspect_excluding_cache([](int) {});
        (void)core.try_trim_excluding_cache();
        send(cells[2]);
        core.take_in_now();
        send(cells[3]);
        core.inbox().drain_inbox(core.inbox().owner);
      },
      [&] { (void)core.take_cell(1, lists); });
}
