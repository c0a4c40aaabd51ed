// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library of many pools and heaps that is loaded late and often: late_libraries.sh.
#include <array>
#include <cstddef>
#include <utility>

#include <ashlar/base/lock.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

namespace {

constexpr std::size_t cell_sizes = 12;
constexpr std::size_t pass = 300;

template <std::size_t Number>
struct element {
  std::byte bytes[8 * (Number + FIRST_NUMBER)];
};

// More than the room of late libraries in static thread-local storage.
thread_local std::array<char, 10'000> users_own;

// A heap over this upstream has its own thread-local variables.
struct other_pages : ashlar::page_resource {};

ashlar::heap<> first_heap, second_heap;
ashlar::heap<other_pages> other_heap;
ashlar::shared_block_pool<> pool({.cell_bytes = 40});
ashlar::shared_pool_set<> set;

// Allocates and frees many blocks, each marked as the caller's. Returns: whether no other thread wrote to them.
template <class Take, class Give>
[[nodiscard]] bool use(char mark, const Take& take, const Give& give) {
  std::array<char*, pass> blocks;
  for (char*& each : blocks) {
    each = static_cast<char*>(static_cast<void*>(take()));
    *each = mark;
  }
  bool good = true;
  for (char* const each : blocks) good = good && *each == mark, give(each);
  return good;
}

template <class T>
[[nodiscard]] bool use_cells_of(char mark) {
  ashlar::pool_allocator<T, ashlar::thread_cached> cells;
  return use(
      mark, [&] { return cells.allocate(1); },
      [&](char* p) { cells.deallocate(static_cast<T*>(static_cast<void*>(p)), 1); });
}

template <std::size_t... Number>
[[nodiscard]] bool use_cells(char mark, std::index_sequence<Number...>) {
  return (use_cells_of<element<Number>>(mark) && ...);
}

template <class Heap>
[[nodiscard]] bool use_heap(Heap& heap, char mark) {
  std::size_t bytes = 1;
  return use(mark, [&] { return heap.allocate(bytes = bytes * 7 % 3001); }, [&](char* p) { heap.deallocate(p); });
}

}  // namespace

extern "C" const std::size_t ashlar_late_users_own_bytes;
const std::size_t ashlar_late_users_own_bytes = sizeof users_own;

extern "C" int ashlar_late_work(char mark);

extern "C" int ashlar_late_work(char mark) {
  users_own.back() = mark;
  const bool good = use_cells(mark, std::make_index_sequence<cell_sizes>()) && use_heap(first_heap, mark) &&
                    use_heap(other_heap, mark) && use_heap(second_heap, mark) &&
                    use(
                        mark, [] { return pool.allocate(); }, [](char* p) { pool.deallocate(p); }) &&
                    use(mark, [] { return set.allocate(100, 8); }, [](char* p) { set.deallocate(p, 100, 8); });
  return good && users_own.back() == mark ? 1 : 0;
}
