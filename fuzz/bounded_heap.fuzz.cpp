// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes as operations on a bounded_heap of a small region, or in a buffer of any size, beside an oracle.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ashlar/base/resource.hpp>
#include <ashlar/heap/bounded_heap.hpp>
#include <ashlar/resource/null_resource.hpp>

#include "fuzz/resource_session.hpp"
#include "fuzz/support.hpp"

namespace {

using namespace ashlar_fuzz;

// A refusal is no fault in a bounded heap; but an empty heap must serve a small block if its region has room for a
// window.
template <class Heap>
void use(input& bytes, Heap& heap, unreliable& upstream) {
  use_resource(bytes, heap, upstream, [] { return true; });
  expect(heap.invariant());
  void* const p = heap.try_allocate(48, 16);
  expect(p != nullptr || heap.held_bytes() < std::size_t{64} * 1024);
  heap.deallocate(p);
  heap.release();
  expect(heap.invariant());
}

void use_region(input& bytes) {
  unreliable upstream;
  {
    ashlar::bounded_heap<ashlar::resource_ref<unreliable>> heap(std::size_t{64 * 1024} << (bytes.next() % 4), upstream);
    use(bytes, heap, upstream);
  }
  expect(upstream.held == 0);
}

void use_buffer(input& bytes) {
  unreliable none;
  std::vector<std::byte> memory(bytes.size(9) + 64);
  const std::size_t skipped = bytes.next() % 64;
  ashlar::bounded_heap<ashlar::null_resource> heap(std::span<std::byte>(memory).subspan(skipped));
  use(bytes, heap, none);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input bytes(data, size);
  bytes.next() % 2 == 0 ? use_region(bytes) : use_buffer(bytes);
  return 0;
}
