// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small arrays from the same pool as single cells: runs of neighbours, and many cells at once.
#include <array>
#include <cstddef>
#include <cstdio>

#include <ashlar/resource/block_pool.hpp>

namespace {

struct particle {
  float x, y, z, age;
};

}  // namespace

int main() {
  ashlar::block_pool<> pool({.cell_bytes = sizeof(particle), .retain_slabs = ashlar::never_release});

  // At least five neighbours: the pool returns the actual number, and all of them may be used.
  const ashlar::block_pool<>::cell_run trail = pool.allocate_at_least(5);
  auto* const particles = static_cast<particle*>(trail.cells);
  for (std::size_t i = 0; i < trail.count; ++i) particles[i] = {static_cast<float>(i), 0, 0, 1};
  std::printf("asked for 5 cells, got %zu\n", trail.count);

  // A hundred cells in one call, and back in one call.
  std::array<void*, 100> sparks;
  pool.allocate_many(sparks);
  std::printf("%zu cells are live\n", pool.live());
  pool.deallocate_many(sparks);

  pool.deallocate_run(trail.cells, 5);
  pool.retain(ashlar::release_now);
  std::printf("%zu cells are live\n", pool.live());
  return pool.live() == 0 ? 0 : 1;
}
