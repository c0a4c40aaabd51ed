// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread makes all calls of the extent map that thread heaps share, while another gives memory back to it.
#include "heap.hpp"

#include <ashlar/detail/heap_threads/shared_extent_map.hpp>

void model() {
  using namespace models;
  memory all;
  ashlar::detail::shared_extent_map<source> space(0, source(all));
  const std::size_t window = ashlar::detail::window_bytes;
  const auto take = [&] { return space.try_allocate(sizeof(segment), window); };
  void* const before = take();
  checker::run_threads(
      [&] {
        void* const mine = take();
        void* const aside = space.try_allocate(sizeof(segment), alignof(segment));
        space.deallocate(aside, sizeof(segment), alignof(segment));
        (void)space.try_allocate(window, alignof(segment));  // more than there is
        (void)space.try_allocate_segment(window);
        space.deallocate_segment(mine, sizeof(segment));
        (void)space.trim();
        (void)space.try_expand(mine, window, window, window);
        (void)space.try_move(mine, window, window);
        space.split(mine, window);
        (void)space.has(mine);
        (void)space.owner_of(mine);
        space.for_each_cached([](const void*, std::size_t) {});
        (void)space.held_bytes();
        (void)space.table_bytes();
        (void)space.invariant();
      },
      [&] { space.deallocate(before, window, window); });
  checker::check(space.held_bytes() == 1, "no change of the table is lost");
}
