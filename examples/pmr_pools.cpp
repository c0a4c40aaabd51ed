// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The standard's pool resources replaced by name; and an allocator without data over a process-wide resource.
#include <cstdio>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

#include <ashlar/face/pmr_pools.hpp>
#include <ashlar/face/stateless_allocator.hpp>
#include <ashlar/resource/page_resource.hpp>

// Was: std::pmr::unsynchronized_pool_resource. Nothing else changes.
using pool_resource = ashlar::pmr::unsynchronized_pool_resource;

int main() {
  std::pmr::pool_options options;
  options.largest_required_pool_block = 1000;
  options.max_blocks_per_chunk = 500;
  pool_resource pools(options, std::pmr::new_delete_resource());
  std::printf("blocks up to %zu bytes come from pools, %zu at once\n", pools.options().largest_required_pool_block,
              pools.options().max_blocks_per_chunk);

  bool good = pools.options().largest_required_pool_block >= 1000;
  {
    std::pmr::map<int, std::pmr::string> names(&pools);
    for (int i = 0; i < 1000; ++i) names.emplace(i, "a name that is too long for the string itself");
    good = good && names.at(7).get_allocator().resource() == &pools && pools.pools().live() == 2000;
  }
  good = good && pools.pools().live() == 0;
  pools.release();

  // Whole pages, in a vector of the usual size: page_resource declares that it is process-wide.
  std::vector<double, ashlar::stateless_allocator<double, ashlar::page_resource>> samples(100'000, 1.5);
  good = good && sizeof(samples) == sizeof(std::vector<double>) && samples.back() == 1.5;
  return good ? 0 : 1;
}
