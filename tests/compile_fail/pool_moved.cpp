// error: (call to (implicitly-)?deleted (copy )?constructor|use of deleted function)
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool cannot be moved: live cells point into it.
#include <utility>

#include <ashlar/resource/fixed_block_pool.hpp>

int main() {
  ashlar::fixed_block_pool<8> pool;
#ifdef ASHLAR_CONTROL
  ashlar::fixed_block_pool<8>&& other = std::move(pool);
#else
  ashlar::fixed_block_pool<8> other = std::move(pool);
#endif
  return other.live() == 0 ? 0 : 1;
}
