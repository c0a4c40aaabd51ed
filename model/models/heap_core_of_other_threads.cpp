// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread makes every call of a non-owner on an engine, while the owner refills its thread cache.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  owner_engine heap({}, source(all));
  void* cells[4] = {};
  for (void*& each : cells) each = heap.try_allocate(16);
  const auto send = [&](void* cell, std::size_t bytes) {
    ashlar::detail::open_parcel<> parcel;
    parcel.begin_carrier(cell, 3 * sizeof(parcel_carrier<>::word));
    heap.receive(parcel.close(), bytes);
  };
  checker::run_threads(
      [&] {
        heap.give_now(cells[0]);
        send(cells[1], ashlar::max_size / 2);  // more than may wait
        (void)heap.trim_remote();
        heap.for_each_live_remote([](void*, std::size_t) {});
        heap.inspect_remote([](int) {});
        (void)heap.try_trim_remote();
        send(cells[2], 1);
        heap.drain_inbox();
        send(cells[3], 1);
        heap.drain_inbox();
      },
      [&] { (void)heap.try_allocate(16); });
}
