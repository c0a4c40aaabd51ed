// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arenas on the bare machine: in a buffer alone, over a buffer, marks, a growing block, objects with destructors.
#include <array>
#include <cstddef>
#include <span>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/null_resource.hpp>

#include "tests/freestanding/machine.hpp"

namespace {

using shared_buffer = ashlar::resource_ref<ashlar::buffer_resource>;

alignas(64) std::array<std::byte, 16384> memory;
int ended = 0;

struct object {
  int number = 7;
  ~object() { ++ended; }
};

template <class Arena>
void serves_a_frame(Arena& arena) noexcept {
  const auto mark = arena.mark();
  void* const p = arena.allocate(100, 16);
  machine::expect(ashlar::detail::is_aligned(p, 16) && arena.try_expand(p, 100, 200, 16));
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

}  // namespace

void run() noexcept {
  an_arena_in_a_buffer_has_no_more_than_that();
  an_arena_over_a_buffer_takes_chunks_of_it();
}
