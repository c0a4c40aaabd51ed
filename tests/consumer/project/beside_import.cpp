// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The file of the program in import.cpp that includes headers, and imports the module after them.
#include <cstddef>

#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

import ashlar;

int sum_by_headers(ashlar::shared_pool_set<>& from, void* block, std::size_t bytes) {
  const auto* const numbers = static_cast<const int*>(block);
  ashlar::arena<> copy;
  auto* const sum = static_cast<int*>(copy.allocate(sizeof(int), alignof(int)));
  *sum = numbers[0] + numbers[1];
  from.deallocate(block, bytes, alignof(int));
  return *sum;
}
