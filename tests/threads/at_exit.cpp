// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Thread-cached containers before main, in threads, in exit functions, and in destructors after all of these.
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include <ashlar/base/lock.hpp>
#include <ashlar/face/pool_allocator.hpp>

namespace {

template <class T>
using cached = ashlar::pool_allocator<T, ashlar::thread_cached>;
template <class T>
using numbers = std::list<T, cached<T>>;

// As large as a node of `numbers<int>`, so that it asks for the same pool.
struct node_sized {
  void* links[2];
  int value;
};

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "at_exit: not so: %s\n", what);
  std::_Exit(1);
}

void use(int count) {
  numbers<int> mine;
  for (int i = 0; i < count; ++i) mine.push_back(i);
  mine.remove_if([](int i) { return i % 2 == 0; });
  expect(mine.size() == static_cast<std::size_t>(count / 2), "lists work");
}

// Made before all other objects here, so that it is destroyed last.
struct last_to_go {
  ~last_to_go() {
    use(1000);
    cached<node_sized>::with_pool([](auto& pool) {
      expect(pool.live() == 0, "all cells came back");
      expect(pool.invariant(), "the pool is sound");
      static_cast<void>(pool.trim());
      expect(pool.slabs() == 0, "no cell is at hand anywhere");
    });
    std::puts("after main: good");
  }
};

const last_to_go guard;
numbers<int> made_before_main = {1, 2, 3};

struct of_a_thread {
  numbers<int> cells;
  ~of_a_thread() { use(300); }
};

}  // namespace

int main() {
  thread_local of_a_thread mains;
  mains.cells.assign(5000, 7);
  made_before_main.assign(2000, 5);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([i] {
      thread_local of_a_thread own;
      own.cells.assign(1000 * static_cast<std::size_t>(i), i);
      if (i == 2) made_before_main.splice(made_before_main.end(), own.cells);
    });
  for (std::thread& each : threads) each.join();
  expect(std::atexit([] { use(500); }) == 0, "atexit takes a function");
  return 0;
}
