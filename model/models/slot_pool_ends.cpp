// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The handle of a pool ends while two threads give back the last two slots: in time, late, or last of all.
#include "pool_memory.hpp"

void model() {
  models::dying_pool<2> pool;
  checker::run_threads([&] { pool.write_and_give(0); }, [&] { pool.write_and_give(1); }, [&] { pool.end_handle(0); });
  pool.check_freed();
}
