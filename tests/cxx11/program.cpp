// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program of C++11 that uses every header of ashlar/cxx11; its status is the number of the line that failed.
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ashlar/cxx11/arena.hpp>
#include <ashlar/cxx11/heap.hpp>
#include <ashlar/cxx11/pmr.hpp>
#include <ashlar/cxx11/pointers.hpp>
#include <ashlar/cxx11/pool_allocator.hpp>

#include <cstdio>
#include <cstdlib>

namespace cxx = ashlar::cxx11;

namespace {

#define EXPECT(condition) \
  if (!(condition)) std::printf("line %d: %s\n", __LINE__, #condition), std::exit(1)

using text = std::basic_string<char, std::char_traits<char>, cxx::heap_allocator<char>>;
using table = std::map<int, text, std::less<int>, cxx::pool_allocator<std::pair<const int, text>>>;

long sum_of(int from) {
  table numbers;
  std::list<int, cxx::pool_allocator<int>> order;
  std::unordered_map<int, int, std::hash<int>, std::equal_to<int>, cxx::pool_allocator<std::pair<const int, int>>>
      twice;
  for (int i = from; i != from + 20000; ++i) {
    numbers.emplace(i, text(static_cast<std::size_t>(i % 50), 'a'));
    order.push_back(i);
    twice.emplace(i, 2 * i);
  }
  long sum = 0;
  for (int i : order) sum += static_cast<long>(numbers.at(i).size()) + twice.at(i) - 2 * i;
  return sum;
}

void containers() {
  long sums[3] = {};
  std::vector<std::thread> team;
  for (int i = 0; i != 3; ++i) team.emplace_back([&sums, i] { sums[i] = sum_of(i * 50); });
  for (std::thread& each : team) each.join();
  for (long sum : sums) EXPECT(sum == 490000);
}

template <std::size_t Bytes, std::size_t Alignment>
void one_cell() {
  using pool = cxx::pool<Bytes, Alignment>;
  void* const cell = pool::allocate();
  EXPECT(reinterpret_cast<std::uintptr_t>(cell) % Alignment == 0 && pool::cell_bytes >= Bytes);
  std::memset(cell, 1, Bytes);
  pool::deallocate(cell);
  EXPECT(pool::held_bytes() >= Bytes);
  pool::flush();
}

void cells() {
  one_cell<1, 1>(), one_cell<8, 8>(), one_cell<9, 4>(), one_cell<16, 16>(), one_cell<40, 8>(), one_cell<40, 16>();
  one_cell<200, 2>(), one_cell<248, 8>(), one_cell<256, 16>(), one_cell<257, 1>(), one_cell<500, 16>();
  one_cell<512, 16>();
#ifdef ASHLAR_TEST_LACKING
  one_cell<1040, 16>();
#endif
}

void arenas() {
  cxx::arena memory(4096, 1 << 20);
  for (std::size_t i = 1; i != 200; ++i) {
    void* const p = memory.allocate(i, 32);
    EXPECT(reinterpret_cast<std::uintptr_t>(p) % 32 == 0);
    std::memset(p, 2, i);
  }
  EXPECT(memory.used() >= 199 * 100 && memory.held_bytes() >= memory.used());
  EXPECT(memory.try_allocate(1 << 21) == nullptr);
  EXPECT(*memory.make<int>(7) == 7);
  std::vector<int, cxx::arena_allocator<int>> numbers((cxx::arena_allocator<int>(memory)));
  for (int i = 0; i != 1000; ++i) numbers.push_back(i);
  EXPECT(numbers.get_allocator() == cxx::arena_allocator<char>(memory));
  memory.reset();
  EXPECT(memory.used() == 0);
  memory.release();
  EXPECT(memory.held_bytes() == 0);
}

struct counted {
  explicit counted(int initial) : value(initial) {
#ifdef __cpp_exceptions
    if (initial < 0) throw initial;
#endif
    ++alive;
  }
  counted(const counted&) = delete;
  ~counted() { --alive; }
  int value;
  static int alive;
};
int counted::alive = 0;

void pointers() {
  {
    const std::shared_ptr<counted> shared = cxx::allocate_shared_pooled<counted>(3);
    cxx::ref_ptr<counted> one = cxx::make_ref<counted>(4), other = one;
    std::unordered_set<cxx::ref_ptr<counted>> all = {one, other, cxx::make_ref<counted>(5)};
    EXPECT(all.size() == 2 && one.use_count() == 3 && shared->value + one->value == 7 && one == other);
    one = nullptr;
    other = std::move(one);
    EXPECT(!other && counted::alive == 3 && sizeof one == sizeof(void*));
  }
  EXPECT(counted::alive == 0);
#ifdef __cpp_exceptions
  try {
    cxx::make_ref<counted>(-1);
    EXPECT(false);
  } catch (int) {
  }
#endif
}

void heap() {
  using cxx::process_heap;
  char* p = static_cast<char*>(process_heap::try_allocate_zeroed(100));
  EXPECT(p[0] == 0 && p[99] == 0 && process_heap::usable_size(p) >= 100);
  std::memset(p, 3, 100);
  p = static_cast<char*>(process_heap::try_reallocate(p, 100000));
  EXPECT(p[99] == 3);
  process_heap::deallocate(p);
  void* const aligned = process_heap::allocate(64, 4096);
  EXPECT(reinterpret_cast<std::uintptr_t>(aligned) % 4096 == 0);
  process_heap::deallocate(aligned, 64, 4096);
  EXPECT(process_heap::try_allocate(~std::size_t(0) / 2 + 2) == nullptr);
  process_heap::trim();
}

void resources() {
#if __cplusplus >= 201703L
  cxx::arena_resource scratch(1024);
  cxx::heap_resource everything;
  std::pmr::vector<std::pmr::string> words(&scratch), kept(&everything);
  for (int i = 0; i != 100; ++i) words.emplace_back(std::size_t(50), 'x');
  kept.assign(words.begin(), words.end());
  EXPECT(kept.back() == words.back() && everything != scratch && scratch.memory().used() > 5000);
#endif
}

}  // namespace

int main() {
  containers(), cells(), arenas(), pointers(), heap(), resources();
  return 0;
}
