// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A buffer on the stack for usual sizes, the heap for the rest: each block finds its way back by its address.
#include <cstddef>
#include <cstdio>
#include <tuple>
#include <utility>
#include <vector>

#include <ashlar/adaptor/fallback.hpp>
#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

namespace {

using counted_heap = ashlar::statistics<ashlar::new_delete_resource>;
using scratch = ashlar::fallback<ashlar::inline_buffer<4096>, counted_heap>;

// Returns: the number of blocks from the heap.
unsigned long long collect(std::size_t count) {
  scratch memory;
  std::vector<std::size_t, ashlar::allocator<std::size_t, scratch>> numbers(memory);
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(i);
  return memory.second().counters().allocations;
}

// A pool of a hundred tickets; later ones come from the heap. Returns: how many of `count` came from the heap.
std::size_t hand_out(std::size_t count) {
  ashlar::fallback<ashlar::block_pool<>, counted_heap> tickets(
      std::piecewise_construct, std::tuple(ashlar::block_pool_options{.cell_bytes = 32, .max_count = 100}),
      std::tuple());
  std::vector<void*> held(count);
  for (void*& each : held) each = tickets.allocate(32, 8);
  const std::size_t from_heap = tickets.second().counters().live_blocks;
  for (void* const each : held) tickets.deallocate(each, 32, 8);
  return tickets.first().live() == 0 && tickets.second().counters().live_blocks == 0 ? from_heap : count;
}

}  // namespace

int main() {
  const auto few = collect(100);
  const auto many = collect(10'000);
  std::printf("100 numbers: %llu blocks from the heap; 10000 numbers: %llu\n", few, many);
  const std::size_t late = hand_out(130);
  std::printf("130 tickets of a pool of 100: %zu from the heap\n", late);
  return few == 0 && many != 0 && late == 30 ? 0 : 1;
}
