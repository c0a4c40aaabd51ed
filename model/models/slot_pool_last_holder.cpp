// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The handle of a pool ends while two threads drop its only object.
#include "pool_memory.hpp"

void model() {
  models::dying_pool<1> pool;
  pool->all[0].word.retain();
  const auto holder = [&] {
    if (pool->all[0].word.release()) pool.write_and_give(0);
  };
  checker::run_threads(holder, holder, [&] { pool.end_handle(0); });
  pool.check_freed();
}
