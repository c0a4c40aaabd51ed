// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread makes every call of a non-owner on a core, while the owner refills its thread cache.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  ashlar::detail::owner_core<ashlar::detail::heap_core<source>> core({}, source(all), nullptr);
  ashlar::detail::free_lists lists;
  void* cells[4] = {};
  for (void*& each : cells) each = core.take_cell(1, lists);
  const auto send = [&](void* cell, std::size_t bytes) {
    ashlar::detail::open_parcel<> parcel;
    parcel.begin_carrier(cell, 3 * sizeof(ashlar::detail::parcel_carrier<>::word));
    core.receive(parcel.close(), bytes);
  };
  checker::run_threads(
      [&] {
        core.give_now(cells[0]);
        send(cells[1], ashlar::detail::max_size / 2);  // more than may wait
        (void)core.trim_excluding_cache(0);
        core.for_each_live_behind([](void*, std::size_t) {});
        core.inspect_excluding_cache([](int) {});
        (void)core.try_trim_excluding_cache();
        send(cells[2], 1);
        core.take_in_now();
        send(cells[3], 1);
        core.take_in_now();
      },
      [&] { (void)core.take_cell(1, lists); });
}
