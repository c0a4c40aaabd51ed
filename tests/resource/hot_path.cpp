// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two calls whose instructions hot_path.sh counts.
#include <ashlar/resource/fixed_block_pool.hpp>

using pool = ashlar::fixed_block_pool<64>;

extern "C" void* hot_path_allocate(pool& cells) { return cells.allocate(); }
extern "C" void hot_path_deallocate(pool& cells, void* cell) { cells.deallocate(cell); }
