// error: this container keeps addresses, which are of one process only
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pointers of one process do not go into shared memory.
#include <vector>

#include <ashlar/face/offset_ptr.hpp>
#include <ashlar/face/shared_memory_allocator.hpp>
#include <ashlar/resource/shared_memory.hpp>

#ifdef ASHLAR_CONTROL
using element = ashlar::interprocess::offset_ptr<int>;
#else
using element = int*;
#endif

int use_addresses(ashlar::interprocess::shared_memory& memory) {
  std::vector<element, ashlar::interprocess::allocator<element>> elements(1, memory);
  return static_cast<int>(elements.size());
}

int main() { return 0; }
