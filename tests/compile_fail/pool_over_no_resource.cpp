// error: (one_way. does not satisfy .resource|constraints? .*resource)
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool refuses an upstream that cannot take blocks back, and names the concept that it does not model.
#include <cstddef>

#include <ashlar/resource/block_pool.hpp>

struct one_way {
  void* allocate(std::size_t, std::size_t) { return nullptr; }
#ifdef ASHLAR_CONTROL
  void deallocate(void*, std::size_t, std::size_t) {}
#endif
  bool operator==(const one_way&) const = default;
};

int main() { ashlar::block_pool<one_way> pool({.cell_bytes = 8}); }
