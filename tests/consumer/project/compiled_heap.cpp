// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A user's program whose heap is compiled once, in the source that ashlar::heap brings.
#include <thread>

#include <ashlar/heap/heap.hpp>

int main() {
  ashlar::heap<> heap;
  void* const p = heap.allocate(100);
  std::thread([&] { heap.deallocate(p); }).join();
  return heap.trim() != 0 && heap.invariant() ? 0 : 1;
}
