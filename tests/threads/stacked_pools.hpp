// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Thread-safe pools stacked on each other, and a workload for them.
#pragma once

#include <cstddef>
#include <vector>

#include <ashlar/base/resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

namespace ashlar_test {

using pool_type = ashlar::shared_block_pool<>;
using upper_pool = ashlar::shared_block_pool<ashlar::resource_ref<pool_type>>;

inline constexpr std::size_t slab = 16 * 1024;

void use(auto& pool, std::size_t cells) {
  std::vector<void*> taken(cells);
  for (void*& each : taken) each = pool.allocate();
  for (void* const each : taken) pool.deallocate(each);
}

}  // namespace ashlar_test
