// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Containers with static storage duration, filled before main and destroyed after it, in both orders of construction.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <ashlar/base/lock.hpp>
#include <ashlar/face/pool_allocator.hpp>

namespace {

template <class T>
using numbers = std::list<T, ashlar::pool_allocator<T>>;

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "static_containers: not so: %s\n", what);
  std::_Exit(1);
}

// Outlives all containers below, since it is made before them: its destructor allocates after their end.
struct last_to_go {
  ~last_to_go() {
    numbers<int> late = {1, 2, 3};
    late.remove(2);
    expect(late.size() == 2, "a pool serves after the last static container");
    std::puts("after main: good");
  }
};

const last_to_go guard;

numbers<int>& before_main() {
  static numbers<int> made_on_first_use = {1, 2, 3};
  return made_on_first_use;
}

const bool filled_before_main = (before_main().assign(1000, 7), true);
numbers<int> first = {1, 2, 3};
std::set<long, std::less<>, ashlar::pool_allocator<long, ashlar::spin_lock>> second = {3, 1, 2};
std::map<int, std::string, std::less<>, ashlar::pool_allocator<std::pair<const int, std::string>, std::mutex>> third = {
    {1, "one, and long enough to be on the heap"}, {2, "two"}};

}  // namespace

int main() {
  expect(filled_before_main && before_main().size() == 1000, "a pool serves before main");
  first.splice(first.end(), before_main());
  expect(first.size() == 1003, "lists of one pool splice");
  second.insert(4);
  third.erase(2);
  third[5] = "made in main, destroyed after it, and long enough to be on the heap";
  return 0;
}
