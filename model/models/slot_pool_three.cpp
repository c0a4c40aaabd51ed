// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The handle of a pool ends while three threads give back its last three slots.
#include "pool_memory.hpp"

void model() {
  models::dying_pool<3> pool;
  checker::run_threads([&] { pool.write_and_give(0); }, [&] { pool.write_and_give(1); },
                       [&] { pool.write_and_give(2); }, [&] { pool.end_handle(0); });
  pool.check_freed();
}
