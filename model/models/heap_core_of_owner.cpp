// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An owner makes all calls of its engine, one after the other, while another thread trims it: a call outside of the
// lock would race.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  owner_engine heap({}, source(all));
  void* const huge = reinterpret_cast<void*>(ashlar::detail::window_bytes);  // tells its kind by its alignment
  const std::size_t bytes = 5 * ashlar::detail::window_bytes;
  void* const cells[] = {heap.try_allocate(16), heap.try_allocate(16)};
  const auto send = [&](void* cell) {
    ashlar::detail::open_parcel<> parcel;
    parcel.begin_carrier(cell, 3 * sizeof(parcel_carrier<>::word));
    heap.receive(parcel.close(), 1);
  };
  send(cells[1]);
  checker::run_threads(
      [&] {
        heap.deallocate(cells[0]);
        (void)heap.try_allocate(16);
        (void)heap.try_allocate(16);
        (void)heap.try_allocate(bytes);
        (void)heap.try_allocate_zeroed(bytes);
        heap.deallocate(huge);
        (void)heap.try_expand(huge, bytes, bytes + 1, 16);
        (void)heap.resize(huge, bytes, bytes + 1, 16);
        (void)heap.move_pages(huge, bytes + 1, 16);
        (void)heap.usable_size(huge);
        (void)heap.owns(nullptr);
        heap.flush_caches();
        heap.for_each_live([](void*, std::size_t) {});
        heap.inspect([](int) {});
        (void)heap.table_bytes();
        (void)heap.reused_bytes();
        heap.release();
        (void)heap.trim();
        (void)heap.held_bytes();
        (void)heap.segments();
        (void)heap.invariant();
        send(all.sampled_cell(heap));
        (void)heap.try_allocate(16);  // unpacked, and counted
      },
      [&] { (void)heap.trim_remote(); });
}
