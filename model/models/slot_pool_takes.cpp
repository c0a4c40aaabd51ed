// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The handle takes returned slots before it ends, while one thread gives back one slot after the other.
#include "pool_memory.hpp"

void model() {
  models::dying_pool<2> pool;
  checker::run_threads([&] { pool.write_and_give(0), pool.write_and_give(1); },
                       [&] {
                         const std::uint32_t chain = pool->home.take_all();
                         pool.end_handle(pool->all.for_each(chain, [](std::uint32_t, models::slot&) {}));
                       });
  pool.check_freed();
}
