// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// std::pmr both ways: an ashlar pool under a pmr container, and a pmr resource under an ashlar pool.
#include <cstdio>
#include <list>
#include <map>
#include <memory_resource>
#include <string>

#include <ashlar/base/resource.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/resource/block_pool.hpp>

int main() {
  // Up: the bridge owns a pool and is a std::pmr::memory_resource. Requests above a cell go to the pool's upstream.
  ashlar::pmr_resource<ashlar::block_pool<>> bridge(ashlar::block_pool_options{.cell_bytes = 96});
  std::pmr::map<int, std::pmr::string> names(&bridge);
  for (int i = 0; i < 100; ++i) names.emplace(i, "a name that is too long for the string itself");
  std::printf("%zu cells live below a pmr map\n", bridge.resource().live());

  // Down: any memory_resource is an ashlar resource already; resource_ref makes it an upstream.
  std::pmr::monotonic_buffer_resource frame;
  ashlar::block_pool<ashlar::resource_ref<std::pmr::memory_resource>> cells({.cell_bytes = 24, .slab_bytes = 4096},
                                                                            frame);
  void* const cell = cells.allocate();
  const bool good = cells.owns(cell) && bridge.resource().live() == 200;
  cells.deallocate(cell);
  return good ? 0 : 1;
}
