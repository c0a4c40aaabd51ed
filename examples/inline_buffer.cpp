// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scratch memory on the stack: a vector in its function's frame, and a bound that cannot be exceeded.
#include <cstdio>
#include <vector>

#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/inline_buffer.hpp>

namespace {

using scratch = ashlar::inline_buffer<4096>;

int sum_of_squares(int count) {
  scratch memory;
  std::vector<int, ashlar::allocator<int, scratch>> squares(memory);
  squares.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) squares.push_back(i * i);
  int sum = 0;
  for (const int square : squares) sum += square;
  return sum;
}

}  // namespace

int main() {
  std::printf("sum of 100 squares: %d\n", sum_of_squares(100));
  scratch memory;
  const bool fits = memory.try_allocate(4096, 16) != nullptr;
  const bool overruns = memory.try_allocate(1, 1) != nullptr;
  return sum_of_squares(100) == 328350 && fits && !overruns ? 0 : 1;
}
