// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap for each level of a game: any sizes, freed one by one or all at once, with a limit, and inspected.
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <ashlar/face/allocator.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/heap/local_heap.hpp>

namespace {

using heap = ashlar::local_heap<>;
template <class T>
using on_heap = ashlar::allocator<T, heap>;

struct particle {
  float position[3], velocity[3];
};

bool play(heap& level) {
  std::vector<int, on_heap<int>> scores(on_heap<int>{level});
  for (int i = 0; i < 1000; ++i) scores.push_back(i);

  // A free needs no size; with one it is faster, and fastest with a size known at compile time.
  void* const name = level.allocate(23);
  level.deallocate(name);
  void* const buffer = level.allocate_zeroed(100'000);
  void* const wider = level.reallocate(buffer, 300'000);
  level.deallocate(wider, 300'000);
  void* const one = level.allocate<sizeof(particle)>();
  level.deallocate<sizeof(particle)>(one);

  // These are never freed: they end with the level.
  for (int i = 0; i < 10'000; ++i) static_cast<void>(level.allocate<sizeof(particle)>());
  const ashlar::heap_statistics sums = ashlar::statistics_of(level);
  std::printf("%zu blocks, %zu bytes, %zu held\n", sums.all.live_blocks, sums.all.live_bytes, sums.held_bytes);
  return sums.all.live_blocks == 10'001 && level.invariant();
}

}  // namespace

int main() {
  heap level({.max_bytes = std::size_t{64} << 20});
  const bool played = play(level);
  level.release();
  return played && level.held_bytes() == 0 ? 0 : 1;
}
