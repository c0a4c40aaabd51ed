// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A user's program with a scope in which the heap is not used.
#include <memory>

#include <ashlar/os/no_heap_scope.hpp>

int main() {
  ashlar::no_heap_scope counted(ashlar::no_heap_scope::count_use);
  const auto number = std::make_unique<int>(1);
  return counted.uses() == 1 ? 0 : 1;
}
