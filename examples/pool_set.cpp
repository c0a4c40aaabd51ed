// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of all sizes from pools: containers over one pool_set, everything given back at once, and one for threads.
#include <cstdio>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

template <class T>
using pooled = ashlar::allocator<T, ashlar::pool_set<>>;
using text = std::basic_string<char, std::char_traits<char>, pooled<char>>;

int main() {
  ashlar::pool_set<> pools;  // allocates nothing yet
  bool good = true;
  {
    std::list<text, pooled<text>> lines(pools);
    for (std::size_t i = 0; i < 100; ++i) lines.emplace_back(i * 7, '-', pooled<char>(pools));
    pools.for_each_pool([](const auto& pool) {
      std::printf("%5zu bytes a cell: %zu live of %zu\n", pool.cell_bytes(), pool.live(), pool.capacity());
    });
    good = pools.live() > 100;
  }
  good = good && pools.live() == 0;

  // A parser's scratch memory: without frees, release() takes all of it back.
  for (std::size_t bytes = 1; bytes < 100'000; bytes *= 2) static_cast<void>(pools.allocate(bytes, 8));
  pools.release();
  good = good && pools.live() == 0;

  // Any thread: another thread may free a block.
  ashlar::shared_pool_set<> shared;
  void* block = nullptr;
  std::thread([&] { block = shared.allocate(100, 8); }).join();
  shared.deallocate(block, 100, 8);
  return good && shared.live() == 0 ? 0 : 1;
}
