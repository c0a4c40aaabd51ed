// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the programs for Windows do: every kind of resource, and blocks that cross threads and outlive theirs.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <ashlar/detail/thread/thread_directory.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/face/stateless_allocator.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/scratch_arena.hpp>
#include <ashlar/resource/shared_pool_set.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

namespace ashlar_test {

/// Effects: fills and empties a map of strings over `from`. Returns: whether all of it was there.
template <class Resource>
[[nodiscard]] bool carries_a_map(Resource& from) {
  using pair = std::pair<const int, std::vector<int>>;
  std::map<int, std::vector<int>, std::less<>, ashlar::allocator<pair, Resource>> m{
      ashlar::allocator<pair, Resource>(from)};
  for (int round = 0; round != 3; ++round) {
    for (int i = 0; i != 2000; ++i) m[i].assign(3, i);
    for (int i = 0; i != 2000; i += 2) m.erase(i);
  }
  return m.size() == 1000 && m.at(1999)[2] == 1999;
}

/// Effects: threads allocate and end; others free. Returns: whether each thread had a cache exactly where thread-local
/// variables are the system's, and the shared resource is intact.
template <class Resource>
[[nodiscard]] bool serves_threads(Resource& from) {
  constexpr std::size_t count = 1000, bytes = 100;
  for (int generation = 0; generation != 4; ++generation) {
    std::vector<void*> blocks(2 * count);
    bool has_caches[2] = {};
    const auto fill = [&](std::size_t of) {
      for (std::size_t i = 0; i != count; ++i) {
        blocks[of * count + i] = from.allocate(bytes, 8);
        *static_cast<std::size_t*>(blocks[of * count + i]) = of * count + i;
      }
      has_caches[of] = ashlar::detail::thread_directory::accepts();
    };
    std::thread first(fill, 0), second(fill, 1);
    first.join(), second.join();
    if (has_caches[0] == (ASHLAR_EMULATED_THREAD_LOCALS != 0) || has_caches[0] != has_caches[1]) return false;
    for (std::size_t i = 0; i != blocks.size(); ++i)
      if (*static_cast<std::size_t*>(blocks[i]) != i) return false;
    std::thread([&] {
      for (void* const each : blocks) from.deallocate(each, bytes, 8);
    }).join();
  }
  return from.invariant();
}

/// Returns: whether a list in many threads over the pool of the process keeps its elements.
[[nodiscard]] inline bool serves_stateless_lists() {
  bool is_right[4] = {};
  std::vector<std::thread> threads;
  for (bool& mine : is_right)
    threads.emplace_back([&mine] {
      std::list<int, ashlar::pool_allocator<int, ashlar::thread_cached>> l;
      for (int i = 0; i != 5000; ++i) l.push_back(i);
      while (l.size() > 1) l.pop_front();
      const ashlar::scratch_arena scratch;
      mine = l.front() == 4999;
    });
  for (std::thread& each : threads) each.join();
  return is_right[0] && is_right[1] && is_right[2] && is_right[3];
}

[[nodiscard]] inline bool resources_work() {
  ashlar::local_heap<> mine;
  ashlar::tlsf_resource<> tlsf;
  ashlar::heap<> all;
  ashlar::shared_pool_set<> pools;
  return carries_a_map(mine) && carries_a_map(tlsf) && carries_a_map(all) && carries_a_map(pools) &&
         serves_threads(all) && serves_threads(pools) && serves_stateless_lists();
}

}  // namespace ashlar_test
