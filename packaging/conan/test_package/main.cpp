// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A list whose nodes come from a pool.
#include <list>

#include <ashlar/face/pool_allocator.hpp>

int main() {
  std::list<int, ashlar::pool_allocator<int>> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(i);
  return numbers.back() == 999 ? 0 : 1;
}
