// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffers on the bare machine: blocks of any alignment, the last one freed and reused, refusals, a new start.
#include <array>
#include <cstddef>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/null_resource.hpp>

#include "tests/freestanding/machine.hpp"

namespace {

alignas(64) std::array<std::byte, 4096> memory;

void blocks_come_from_the_buffer() noexcept {
  ashlar::buffer_resource buffer(memory);
  for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
    void* const p = buffer.allocate(24, alignment);
    machine::expect(ashlar::detail::is_aligned(p, alignment) && buffer.owns(p));
  }
  void* const last = buffer.allocate(100, 8);
  buffer.deallocate(last, 100, 8);
  machine::expect(buffer.allocate(50, 8) == last);
  machine::expect(buffer.try_allocate(memory.size(), 1) == nullptr &&
                  buffer.try_allocate(ashlar::detail::max_size, 8) == nullptr);
  buffer.release();
  machine::expect(buffer.used() == 0 && buffer.try_allocate(memory.size(), 1) == memory.data() && buffer.invariant());
}

void a_buffer_brings_its_bytes_along() noexcept {
  ashlar::inline_buffer<256> buffer;
  ashlar::resource_ref<ashlar::buffer_resource> shared = buffer;
  machine::expect(buffer.owns(shared.allocate(200, 16)) && shared.try_allocate(200, 16) == nullptr);
}

}  // namespace

void run() noexcept {
  blocks_come_from_the_buffer();
  a_buffer_brings_its_bytes_along();
  machine::expect(ashlar::null_resource().try_allocate(1, 1) == nullptr);
}
