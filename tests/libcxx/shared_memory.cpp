// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Containers inside shared memory, written at one address and read at another: libc++ links all of them by the
// allocator's pointers, libstdc++ only those that lie in arrays.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ashlar/face/shared_memory_allocator.hpp>
#include <ashlar/resource/shared_memory.hpp>

namespace {

using ashlar::interprocess::shared_memory;
template <class T>
using allocator = ashlar::interprocess::allocator<T>;
using entry = std::pair<const int, int>;

constexpr std::size_t bytes = std::size_t{1} << 20;

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "shared_memory: not so: %s\n", what);
  std::_Exit(1);
}

struct contents {
  explicit contents(shared_memory& in) : numbers(in), queue(in) {}
  std::vector<int, allocator<int>> numbers;
  std::deque<int, allocator<int>> queue;
};

#if defined(_LIBCPP_VERSION)
struct linked_contents : contents {
  explicit linked_contents(shared_memory& in) : contents(in), links(in), ordered(in), hashed(in) {}
  std::list<int, allocator<int>> links;
  std::map<int, int, std::less<int>, allocator<entry>> ordered;
  std::unordered_map<int, int, std::hash<int>, std::equal_to<int>, allocator<entry>> hashed;
};
void fill_links(linked_contents& made, int i) {
  made.links.push_front(i);
  made.ordered[i] = made.hashed[i] = 2 * i;
}
void expect_links(linked_contents& found) {
  expect(found.links.size() == 1000 && found.links.back() == 0, "a list is found at another address");
  for (int i = 0; i < 1000; ++i) expect(found.ordered.at(i) == 2 * i && found.hashed.at(i) == 2 * i, "maps are");
}
constexpr const char* library = "libc++";
#else
using linked_contents = contents;
void fill_links(linked_contents&, int) {}
void expect_links(linked_contents&) {}
constexpr const char* library = "libstdc++";
#endif

}  // namespace

int main() {
  const int file = ::memfd_create("ashlar", 0);
  expect(::ftruncate(file, bytes) == 0, "there is memory");
  void* const one = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* const two = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const auto memory = shared_memory::create(one, bytes);
  auto* const made =
      ::new (memory->allocate(sizeof(linked_contents), alignof(linked_contents))) linked_contents(*memory);
  for (int i = 0; i < 1000; ++i) {
    made->numbers.push_back(i);
    made->queue.push_front(i);
    fill_links(*made, i);
  }
  memory->set_root(made);
  ::munmap(one, bytes);  // an address of the first mapping would be fatal from here on
  const auto there = shared_memory::open(two, bytes);
  auto* const found = static_cast<linked_contents*>(there->root());
  expect(found->numbers.back() == 999 && found->queue.back() == 0, "a vector and a deque are found");
  expect_links(*found);
  found->~linked_contents();
  there->deallocate(found);
  expect(there->used() == 0, "all of it comes back");
  std::printf("good with %s\n", library);
  return 0;
}
