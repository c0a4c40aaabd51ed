// error: (constant expression|constexpr)
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool of cells of 0 bytes is refused while it is compiled.
#include <ashlar/resource/fixed_block_pool.hpp>

#ifdef ASHLAR_CONTROL
using pool_type = ashlar::fixed_block_pool<1, 1>;
#else
using pool_type = ashlar::fixed_block_pool<0, 1>;
#endif

int main() {
  pool_type pool;
  return pool.live() == 0 ? 0 : 1;
}
