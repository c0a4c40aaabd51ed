// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Resources on the bare machine, in a buffer alone or over one: buffers, arenas, stacks, pools, and blocks of any size.
#include <array>
#include <cstddef>
#include <span>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>
#include <ashlar/resource/two_ended_stack.hpp>

#include "tests/freestanding/machine.hpp"

namespace {

using shared_buffer = ashlar::resource_ref<ashlar::buffer_resource>;

alignas(4096) std::array<std::byte, 16384> memory;

void blocks_come_from_the_buffer() noexcept {
  ashlar::buffer_resource buffer(memory);
  for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
    void* const p = buffer.allocate(24, alignment);
    machine::expect(ashlar::is_aligned(p, alignment) && buffer.owns(p));
  }
  void* const last = buffer.allocate(100, 8);
  buffer.deallocate(last, 100, 8);
  machine::expect(buffer.allocate(50, 8) == last);
  machine::expect(buffer.try_allocate(memory.size(), 1) == nullptr &&
                  buffer.try_allocate(ashlar::max_size, 8) == nullptr);
  buffer.release();
  machine::expect(buffer.used() == 0 && buffer.try_allocate(memory.size(), 1) == memory.data() && buffer.invariant());
}

void a_buffer_brings_its_bytes_along() noexcept {
  ashlar::inline_buffer<256> buffer;
  ashlar::resource_ref<ashlar::buffer_resource> shared = buffer;
  machine::expect(buffer.owns(shared.allocate(200, 16)) && shared.try_allocate(200, 16) == nullptr);
}

int ended = 0;

struct object {
  int number = 7;
  ~object() { ++ended; }
};

template <class Arena>
void serves_a_frame(Arena& arena) noexcept {
  const auto mark = arena.mark();
  void* const p = arena.allocate(100, 16);
  machine::expect(ashlar::is_aligned(p, 16) && arena.try_expand(p, 100, 200, 16));
  const int before = ended;
  machine::expect(arena.template make<object>()->number == 7);
  arena.rewind(mark);
  machine::expect(ended == before + 1 && arena.allocate(100, 16) == p);
  arena.reset();
  machine::expect(arena.used() == 0 && arena.invariant());
}

void an_arena_in_a_buffer_has_no_more_than_that() noexcept {
  ashlar::arena<ashlar::null_resource> arena{std::span<std::byte>(memory)};
  for (int frame = 0; frame < 3; ++frame) serves_a_frame(arena);
  machine::expect(arena.try_allocate(2 * memory.size(), 1) == nullptr);
  std::size_t blocks = 0;
  while (arena.try_allocate(64, 8) != nullptr) ++blocks;
  machine::expect(blocks > 240 && blocks <= 256);
}

void an_arena_over_a_buffer_takes_chunks_of_it() noexcept {
  ashlar::buffer_resource buffer(memory);
  ashlar::arena<shared_buffer> arena{shared_buffer(buffer)};
  for (int frame = 0; frame < 3; ++frame) serves_a_frame(arena);
  machine::expect(buffer.used() != 0);
}

template <class Stack>
void pushes_and_pops(Stack& stack) noexcept {
  const auto mark = stack.mark();
  std::array<void*, 20> blocks = {};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = stack.allocate(10 * i, std::size_t{1} << (i % 6));
    machine::expect(ashlar::is_aligned(blocks[i], std::size_t{1} << (i % 6)));
  }
  for (std::size_t i = blocks.size(); i-- != 10;) stack.deallocate(blocks[i], 10 * i, std::size_t{1} << (i % 6));
  machine::expect(stack.allocate(100, 16) == blocks[10]);
  stack.rewind(mark);
  machine::expect(stack.allocate(0, 1) == blocks[0]);
  stack.release();
}

void a_stack_in_a_buffer_has_no_more_than_that() noexcept {
  ashlar::stack_resource<ashlar::null_resource> stack{std::span<std::byte>(memory)};
  for (int round = 0; round < 3; ++round) pushes_and_pops(stack);
  machine::expect(stack.try_allocate(memory.size() + 1, 1) == nullptr && stack.invariant());
}

void a_stack_over_a_buffer_takes_chunks_of_it() noexcept {
  ashlar::buffer_resource buffer(memory);
  ashlar::stack_resource<shared_buffer> stack{{.initial_bytes = 8192, .max_growth_bytes = 8192}, shared_buffer(buffer)};
  for (int round = 0; round < 3; ++round) pushes_and_pops(stack);
}

void both_ends_serve() noexcept {
  ashlar::two_ended_stack stack{std::span<std::byte>(memory)};
  void* const low = stack.front().allocate(100, 8);
  void* const high = stack.back().allocate(100, 8);
  machine::expect(low < high && stack.front().try_allocate(memory.size() - 100, 8) == nullptr);
  stack.back().deallocate(high, 100, 8);
  stack.front().deallocate(low, 100, 8);
}

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
  machine::expect(ashlar::is_aligned(aligned, 256) && heap.owns(aligned));
  heap.deallocate(aligned, 100, 256);
}

void a_heap_over_a_buffer_takes_regions_of_it() noexcept {
  ashlar::buffer_resource buffer(memory);
  ashlar::tlsf_resource<shared_buffer> heap{{.growth = {.smallest = 12000, .largest = 12000}}, shared_buffer(buffer)};
  for (int round = 0; round < 3; ++round) comes_back_to_one_piece(heap);
}

}  // namespace

void run() noexcept {
  blocks_come_from_the_buffer();
  a_buffer_brings_its_bytes_along();
  machine::expect(ashlar::null_resource().try_allocate(1, 1) == nullptr);
  an_arena_in_a_buffer_has_no_more_than_that();
  an_arena_over_a_buffer_takes_chunks_of_it();
  a_stack_in_a_buffer_has_no_more_than_that();
  a_stack_over_a_buffer_takes_chunks_of_it();
  both_ends_serve();
  a_pool_over_a_buffer_serves_until_it_is_full();
  a_fixed_pool_has_small_slabs();
  a_pool_over_nothing_has_nothing();
  a_heap_in_a_buffer_has_no_more_than_that();
  a_heap_over_a_buffer_takes_regions_of_it();
  a_double_free_is_reported();  // ends the program
}
