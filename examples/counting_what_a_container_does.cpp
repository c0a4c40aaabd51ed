// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The number and the sizes of a container's allocations. An adaptor counts; the container does not change.
#include <cstdio>
#include <string>
#include <vector>

#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

using counted = ashlar::statistics<ashlar::new_delete_resource>;

int main() {
  counted memory;
  {
    std::vector<int, ashlar::allocator<int, counted>> numbers(memory);
    for (int i = 0; i < 1000; ++i) numbers.push_back(i);
  }
  const ashlar::allocation_counters grown = memory.counters();

  memory.reset_counters();
  {
    std::vector<int, ashlar::allocator<int, counted>> numbers(memory);
    numbers.reserve(1000);
    for (int i = 0; i < 1000; ++i) numbers.push_back(i);
  }
  const ashlar::allocation_counters reserved = memory.counters();

  std::printf("grown:    %llu allocations, %llu bytes in all, %zu at the peak\n",
              static_cast<unsigned long long>(grown.allocations),
              static_cast<unsigned long long>(grown.allocated_bytes), grown.peak_bytes);
  std::printf("reserved: %llu allocations, %llu bytes in all, %zu at the peak\n",
              static_cast<unsigned long long>(reserved.allocations),
              static_cast<unsigned long long>(reserved.allocated_bytes), reserved.peak_bytes);
  return reserved.allocations == 1 && grown.live_bytes == 0 ? 0 : 1;
}
