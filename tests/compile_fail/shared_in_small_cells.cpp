// error: the cells of this pool cannot hold the object and its counts
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool whose cells are too small by their type for a shared object and its counts is refused.
#include <ashlar/face/shared_pooled.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>

#ifdef ASHLAR_CONTROL
using pool_type = ashlar::fixed_block_pool<ashlar::detail::most_shared_cell_bytes<int>>;
#else
using pool_type = ashlar::fixed_block_pool<sizeof(int)>;
#endif

int main() {
  pool_type pool;
  return *ashlar::allocate_shared_pooled<int>(pool, 0);
}
