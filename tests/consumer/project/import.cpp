// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that imports the module; another file of it includes headers, and blocks go from one to the other.
#include <cstddef>
#include <list>

import ashlar;

int sum_by_headers(ashlar::shared_pool_set<>& from, void* block, std::size_t bytes);

int main() {
  std::list<int, ashlar::pool_allocator<int>> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(i);
  ashlar::heap<> heap;
  heap.deallocate(heap.allocate(100));
  ashlar::budget limit(std::size_t{1} << 20);
  ashlar::limiting<ashlar::arena<>> memory(limit);
  ashlar::shared_pool_set<> pools;
  auto* const block = static_cast<int*>(pools.allocate(2 * sizeof(int), alignof(int)));
  block[0] = numbers.back();
  block[1] = memory.try_allocate(std::size_t{2} << 20, 8) == nullptr ? 1 : 0;
  return sum_by_headers(pools, block, 2 * sizeof(int)) == 1000 ? 0 : 1;
}
