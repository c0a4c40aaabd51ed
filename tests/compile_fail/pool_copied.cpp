// error: (call to (implicitly-)?deleted (copy )?constructor|use of deleted function)
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool cannot be copied: live cells point into it.
#include <ashlar/resource/block_pool.hpp>

int main() {
  ashlar::block_pool<> pool({.cell_bytes = 8});
#ifdef ASHLAR_CONTROL
  ashlar::block_pool<>& other = pool;
#else
  ashlar::block_pool<> other = pool;
#endif
  return other.live() == 0 ? 0 : 1;
}
