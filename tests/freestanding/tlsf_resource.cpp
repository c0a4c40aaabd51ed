// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any size on the bare machine: a heap in a buffer that fills, joins to one block again, and grows blocks in place.
#include <array>
#include <cstddef>
#include <span>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/freestanding/machine.hpp"

namespace {

using shared_buffer = ashlar::resource_ref<ashlar::buffer_resource>;

alignas(64) std::array<std::byte, 16384> memory;
std::array<void*, 64> blocks;

[[nodiscard]] std::size_t bytes_of(std::size_t i) noexcept { return 1 + i * 37 % 200; }

template <class Heap>
void comes_back_to_one_piece(Heap& heap) noexcept {
  void* const large = heap.allocate(8000, 8);
  heap.deallocate(large, 8000, 8);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = heap.allocate(bytes_of(i), 8);
  for (std::size_t i = 0; i < blocks.size(); i += 2) heap.deallocate(blocks[i], bytes_of(i), 8);
  for (std::size_t i = 1; i < blocks.size(); i += 2) heap.deallocate(blocks[i], bytes_of(i), 8);
  void* const again = heap.try_allocate(8000, 8);
  machine::expect(again != nullptr && heap.invariant());
  machine::expect(heap.try_expand(again, 8000, 4000, 8) && heap.try_expand(again, 4000, 7000, 8));
  heap.deallocate(again, 7000, 8);
}

void a_heap_in_a_buffer_has_no_more_than_that() noexcept {
  ashlar::tlsf_resource<ashlar::null_resource> heap{std::span<std::byte>(memory)};
  for (int round = 0; round < 3; ++round) comes_back_to_one_piece(heap);
  machine::expect(heap.try_allocate(memory.size(), 8) == nullptr);
  void* const aligned = heap.allocate(100, 256);
  machine::expect(ashlar::detail::is_aligned(aligned, 256) && heap.owns(aligned));
  heap.deallocate(aligned, 100, 256);
}

void a_heap_over_a_buffer_takes_regions_of_it() noexcept {
  ashlar::buffer_resource buffer(memory);
  ashlar::tlsf_resource<shared_buffer> heap{{.growth = {.smallest = 12000, .largest = 12000}}, shared_buffer(buffer)};
  for (int round = 0; round < 3; ++round) comes_back_to_one_piece(heap);
}

}  // namespace

void run() noexcept {
  a_heap_in_a_buffer_has_no_more_than_that();
  a_heap_over_a_buffer_takes_regions_of_it();
}
