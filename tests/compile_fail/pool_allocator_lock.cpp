// error: basic_lockable
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A lock policy that cannot be locked is refused by the name of its concept.
#include <ashlar/base/lock.hpp>
#include <ashlar/face/pool_allocator.hpp>

#ifdef ASHLAR_CONTROL
using policy = ashlar::spin_lock;
#else
using policy = int;
#endif

int main() {
  const ashlar::pool_allocator<int, policy> numbers;
  return numbers == numbers ? 0 : 1;
}
