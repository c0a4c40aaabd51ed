// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library whose pools give their memory back while it is closed.
#include <array>

#include <ashlar/resource/block_pool.hpp>

namespace {

ashlar::block_pool<> pool({.cell_bytes = 1024});
std::array<void*, 2000> kept;

// Made after the pool, so that it is destroyed first.
struct last_use {
  last_use() = default;
  ~last_use() {
    for (void* const each : kept)
      if (each != nullptr) pool.deallocate(each);
  }
};
const last_use at_close;

}  // namespace

extern "C" void ashlar_library_work();

// The second pool is made before the first request to the system, and destroyed last.
extern "C" void ashlar_library_work() {
  static ashlar::block_pool<> late({.cell_bytes = 64});
  late.deallocate(late.allocate());
  for (void*& each : kept) each = pool.allocate();
}
