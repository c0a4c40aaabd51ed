// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An audio thread's heap: mapped before the music starts; then every call is bounded and none asks the system.
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <ashlar/face/allocator.hpp>
#include <ashlar/heap/bounded_heap.hpp>

namespace {

using heap = ashlar::bounded_heap<>;
template <class T>
using on_heap = ashlar::allocator<T, heap>;
using samples = std::vector<float, on_heap<float>>;

// Voices start and end, each with a buffer of its own length.
bool play(heap& memory) {
  std::vector<samples, on_heap<samples>> voices(on_heap<samples>{memory});
  for (std::size_t frame = 0; frame < 1000; ++frame) {
    if (voices.size() == 16) voices.erase(voices.begin() + static_cast<std::ptrdiff_t>(frame % 16));
    voices.emplace_back(std::size_t{64} << frame % 6, 0.5F, on_heap<float>{memory});
  }
  std::printf("%zu voices in %zu bytes\n", voices.size(), memory.held_bytes());
  return memory.try_allocate(std::size_t{1} << 30) == nullptr && memory.invariant();  // a full heap refuses
}

}  // namespace

int main() {
  heap memory(std::size_t{4} << 20);
  return play(memory) ? 0 : 1;
}
