// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two calls whose instructions block_pool_pin.sh counts.
#include <ashlar/resource/fixed_block_pool.hpp>

using pool = ashlar::fixed_block_pool<64>;

extern "C" void* block_pool_allocate(pool& cells) { return cells.allocate(); }
extern "C" void block_pool_deallocate(pool& cells, void* cell) { cells.deallocate(cell); }
