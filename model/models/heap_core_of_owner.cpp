// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An owner makes all calls of its core, one after the other, while another thread drains the inbox: a call outside of
// the lock would race.
#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  ashlar::detail::owner_core<ashlar::detail::heap_core<source>> core({}, source(all), nullptr);
  ashlar::detail::free_lists lists;
  const auto none = ashlar::detail::size_classes::none;
  void* const cells[] = {core.take_cell(1, lists), core.take_cell(1, lists), core.take_cell(1, lists),
                         core.take_cell(1, lists)};
  ashlar::detail::open_parcel<> parcel;
  parcel.begin_carrier(cells[3], 3 * sizeof(ashlar::detail::parcel_carrier<>::word));
  core.receive(parcel.close(), 1);
  checker::run_threads(
      [&] {
        core.give_cell(cells[0]);
        core.give_sampled(cells[1], 1, lists);
        (void)core.take_cell(1, lists);
        core.count_freed(1, lists);
        (void)core.take_large(1, 1, lists);
        (void)core.take_large_retry(1, 1, lists);
        core.give_run(nullptr, lists);
        core.give_huge(nullptr);
        (void)core.resize(nullptr, none, none, 1);
        (void)core.move_huge(nullptr, 1, 1);
        (void)core.usable_size(nullptr);
        (void)core.owns(nullptr);
        core.flush_caches(lists);
        core.for_each_live([](void*, std::size_t) {});
        core.inspect([](int) {}, lists);
        (void)core.table_bytes();
        (void)core.reused_bytes();
        core.release();
        (void)core.trim(0, lists);
        (void)core.held_bytes();
        (void)core.invariant(lists);
      },
      [&] {
        core.give_now(cells[2]);
        core.take_in_now();
      });
}
