// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A list whose nodes come from a pool.
#include <list>

#if __cplusplus >= 202002L
#include <ashlar/face/pool_allocator.hpp>
using ashlar::pool_allocator;
#else
#include <ashlar/cxx11/pool_allocator.hpp>
using ashlar::cxx11::pool_allocator;
#endif

int main() {
  std::list<int, pool_allocator<int>> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(i);
  return numbers.back() == 999 ? 0 : 1;
}
