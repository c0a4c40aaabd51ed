// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pools on the bare machine: over a buffer until it is full, over nothing, cells and runs; at the levels that check, a
// double free goes to the handler.
#include <array>
#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/null_resource.hpp>

#include "tests/freestanding/machine.hpp"

namespace {

using shared_buffer = ashlar::resource_ref<ashlar::buffer_resource>;

alignas(4096) std::array<std::byte, 16384> memory;
std::array<void*, 1024> cells;

// Returns: the number of cells. All come back, from both ends towards the middle.
template <class Pool>
std::size_t fill_and_empty(Pool& pool) noexcept {
  std::size_t count = 0;
  while (count != cells.size() && (cells[count] = pool.try_allocate()) != nullptr) {
    *static_cast<std::size_t*>(cells[count]) = count;
    ++count;
  }
  for (std::size_t i = 0; i < count; ++i) machine::expect(*static_cast<std::size_t*>(cells[i]) == i);
  for (std::size_t i = 0; i < count; ++i) pool.deallocate(cells[i % 2 == 0 ? i / 2 : count - 1 - i / 2]);
  machine::expect(pool.live() == 0 && pool.invariant());
  return count;
}

void a_pool_over_a_buffer_serves_until_it_is_full() noexcept {
  ashlar::buffer_resource buffer(memory);
  ashlar::block_pool<shared_buffer> pool({.cell_bytes = 24, .slab_bytes = 1024, .retain_slabs = ashlar::never_release},
                                         buffer);
  const std::size_t first = fill_and_empty(pool);
  machine::expect(first > 400 && fill_and_empty(pool) == first);
  void* const run = pool.allocate_run(10);
  pool.deallocate_run(run, 10);
  machine::expect(pool.owns(run) && pool.live() == 0);
}

void a_fixed_pool_has_small_slabs() noexcept {
  ashlar::buffer_resource buffer(memory);
  ashlar::fixed_block_pool<64, 64, shared_buffer> pool({.retain_slabs = ashlar::never_release}, buffer);
  machine::expect(pool.slab_bytes() == 1024 && fill_and_empty(pool) > 150);
}

void a_pool_over_nothing_has_nothing() noexcept {
  ashlar::fixed_block_pool<32, 8, ashlar::null_resource> pool;
  machine::expect(pool.try_allocate() == nullptr && pool.capacity() == 0);
}

void a_double_free_is_reported() noexcept {
  if constexpr (ashlar::checking_level >= ashlar::checking::checked) {
    static_cast<void>(ashlar::set_violation_handler([](const ashlar::violation& found) noexcept {
      ashlar::violation::print(found);
      machine::leave(found.kind == ashlar::fault::double_free && machine::lines_written() == 1 ? 0 : 101);
    }));
    ashlar::buffer_resource buffer(memory);
    ashlar::block_pool<shared_buffer> pool({.cell_bytes = 24, .slab_bytes = 1024}, buffer);
    void* const cell = pool.allocate();
    pool.deallocate(cell);
    pool.deallocate(cell);
    machine::leave(102);
  }
}

}  // namespace

void run() noexcept {
  a_pool_over_a_buffer_serves_until_it_is_full();
  a_fixed_pool_has_small_slabs();
  a_pool_over_nothing_has_nothing();
  a_double_free_is_reported();
}
