// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds leaks: every live block with the name of the activity that allocated it.
#include <cstddef>
#include <cstdio>
#include <memory>
#include <vector>

#include <ashlar/adaptor/tracking.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/os/site.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

using heap = ashlar::tracking<ashlar::new_delete_resource, ashlar::site::labelled<>>;
using numbers = std::vector<int, ashlar::allocator<int, heap>>;

int main() {
  heap memory;
  std::unique_ptr<numbers> level;
  {
    const ashlar::site::label now("loading the level");
    level = std::make_unique<numbers>(1000, 7, ashlar::allocator<int, heap>(memory));
  }
  const ashlar::site::label now("running");
  const numbers other(10, 7, ashlar::allocator<int, heap>(memory));

  std::size_t of_the_level = 0;
  memory.for_each_live([&](const heap::entry& block) {
    std::printf("%zu bytes, allocated while %s\n", block.bytes, block.allocated.name());
    if (block.bytes == 1000 * sizeof(int)) ++of_the_level;
  });
  // Without the next line: "ashlar: leak: …, allocated at loading the level (tracking.cpp:20): 1 of 4000 bytes".
  level.reset();
  return of_the_level == 1 && memory.live() == 1 ? 0 : 1;
}
