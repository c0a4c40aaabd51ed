// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Level `checked`, with whole calls under the lock: an owner makes all its calls, while another thread frees, trims and
// inspects.
#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI {
inline constexpr checking level_of_this_model = checking::checked;
}
#define checking_level level_of_this_model

#include "heap.hpp"

void model() {
  using namespace models;
  memory all;
  owner_engine heap({}, source(all));
  void* const freed_remote = take(heap, 1);
  checker::run_threads(
      [&] {
        void* cells[5] = {heap.allocate(16), heap.try_allocate(16), heap.allocate_at_least(16).data,
                          heap.allocate_zeroed(16), heap.try_allocate_zeroed(16)};
        heap.deallocate(cells[0]);
        heap.deallocate(cells[1], 16);
        (void)heap.try_put_cell(cells[3], 16, 16);
        (void)heap.try_expand(cells[2], 16, 32, 16);
        (void)heap.reallocate(cells[2], 32);
        (void)heap.try_reallocate(cells[2], 32);
        (void)heap.resize(cells[2], 16, 32, 16);
        (void)heap.move_pages(reinterpret_cast<void*>(ashlar::detail::window_bytes), 32, 16);
        heap.flush_caches();
        heap.deallocate<16>(heap.allocate<16>());
        heap.for_each_live([](void*, std::size_t) {});
        heap.for_each_live_remote([](void*, std::size_t) {});
        heap.inspect([](int) {});
        heap.inspect_remote([](int) {});
        heap.release();
        (void)heap.trim();
        (void)heap.invariant();
        (void)heap.usable_size(cells[2]);
        (void)heap.owns(cells[2]);
        (void)heap.held_bytes();
        (void)heap.table_bytes();
        (void)heap.reused_bytes();
        (void)heap.trim_remote();
        (void)heap.try_trim_remote();
      },
      [&] {
        release_cell(freed_remote, 1);
        heap.give_now(freed_remote);
        (void)heap.trim_remote();
      });
}
