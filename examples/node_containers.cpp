// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A list and a map with nodes from pools, by one template argument and no other change.
#include <cstdio>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <ashlar/base/options.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/node_bytes.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/face/pool_of.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>

template <class T>
using pooled_list = std::list<T, ashlar::pool_allocator<T>>;

template <class Key, class T>
using pooled_map = std::map<Key, T, std::less<>, ashlar::pool_allocator<std::pair<const Key, T>>>;

struct index_nodes : ashlar::pool_allocator_traits {
  static constexpr std::size_t slab_bytes = std::size_t{1} << 20;
};

int main() {
  pooled_list<int> numbers;
  for (int i = 0; i < 1'000'000; ++i) numbers.push_back(i);
  numbers.remove_if([](int n) { return n % 3 == 0; });

  pooled_map<int, std::string> names = {{1, "one"}, {2, "two"}};
  names[3] = "three";

  // The pool behind a container: its statistics, and what it shall keep.
  const auto pool = ashlar::pool_of(numbers);
  const std::size_t live = pool.live();
  std::printf("%zu numbers in %zu cells of %zu bytes; %zu names\n", numbers.size(), live, pool.cell_bytes(),
              names.size());
  pool.retain(ashlar::never_release);

  // Traits have pools of their own.
  std::set<int, std::less<>, ashlar::pool_allocator<int, index_nodes>> index;
  ashlar::pool_of(index).reserve(100'000);

  // A pool of one's own has cells of the size that this standard library gives the nodes.
  ashlar::fixed_block_pool<ashlar::node_bytes<std::set<int>>> nodes;
  const std::set<int, std::less<>, ashlar::allocator<int, decltype(nodes)>> primes({2, 3, 5, 7}, nodes);
  std::printf("%zu primes in cells of %zu bytes\n", nodes.live(), nodes.cell_bytes());
  return live == numbers.size() && nodes.live() == primes.size() && nodes.outsized_blocks() == 0 ? 0 : 1;
}
