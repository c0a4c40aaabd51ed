// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap inside an array, for code with deadlines: containers, a message queue, and a vector that grows in place.
#include <array>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

namespace {

using heap = ashlar::tlsf_resource<ashlar::null_resource, ashlar::tlsf_small>;

// Nothing here asks the system for memory: a full heap refuses.
alignas(16) std::array<std::byte, 64 * 1024> memory;

template <class T>
using on_heap = ashlar::allocator<T, heap>;

struct message {
  int priority;
  std::vector<char, on_heap<char>> text;

  [[nodiscard]] friend bool operator<(const message& a, const message& b) { return a.priority < b.priority; }
};

bool run(heap& mine) {
  std::multiset<message, std::less<message>, on_heap<message>> queue(mine);
  for (int i = 0; i < 200; ++i) {
    const std::string text = "message number " + std::to_string(i);
    queue.insert(message{i % 7, {text.begin(), text.end(), mine}});
    if (queue.size() > 100) queue.erase(queue.begin());
  }
  std::printf("%zu messages in %zu of %zu bytes\n", queue.size(), mine.used(), mine.capacity());
  return queue.size() == 100 && mine.invariant();
}

bool grow_in_place(heap& mine) {
  void* const log = mine.allocate(100, 1);
  std::size_t size = 100, moves = 0;
  while (mine.try_expand(log, size, size * 2, 1)) size *= 2, ++moves;
  std::printf("a log grew %zu times where it stands, to %zu bytes\n", moves, size);
  mine.deallocate(log, size, 1);
  return moves >= 5;
}

}  // namespace

int main() {
  heap mine(memory);
  const bool worked = run(mine) && grow_in_place(mine);
  const bool is_bounded = mine.try_allocate(65536, 1) == nullptr;
  return worked && is_bounded && mine.used() == 0 ? 0 : 1;
}
