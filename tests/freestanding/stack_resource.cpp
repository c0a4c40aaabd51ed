// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stacks on the bare machine: in a buffer alone and over a buffer, blocks freed in turn, marks; and both ends of one.
#include <array>
#include <cstddef>
#include <span>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/two_ended_stack.hpp>

#include "tests/freestanding/machine.hpp"

namespace {

using shared_buffer = ashlar::resource_ref<ashlar::buffer_resource>;

alignas(64) std::array<std::byte, 16384> memory;

template <class Stack>
void pushes_and_pops(Stack& stack) noexcept {
  const auto mark = stack.mark();
  std::array<void*, 20> blocks = {};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = stack.allocate(10 * i, std::size_t{1} << (i % 6));
    machine::expect(ashlar::detail::is_aligned(blocks[i], std::size_t{1} << (i % 6)));
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
  ashlar::stack_resource<shared_buffer> stack{{.smallest = 8192, .largest = 8192}, shared_buffer(buffer)};
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

}  // namespace

void run() noexcept {
  a_stack_in_a_buffer_has_no_more_than_that();
  a_stack_over_a_buffer_takes_chunks_of_it();
  both_ends_serve();
}
