// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The public types over the standard library's own types, with any library; and shared objects of a pool without a call
// of malloc.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/counted_pool.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/face/shared_pooled.hpp>
#include <ashlar/face/unique.hpp>
#include <ashlar/os/no_heap_scope.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/face/asked_nodes.hpp"
#include "tests/face/witness.hpp"

namespace {

using ashlar::allocate_shared_pooled;
using ashlar::allocate_unique;
using ashlar::no_heap_scope;
using ashlar::one_thread;
using ashlar::thread_cached;
using ashlar_test::witness;

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "faces: not so: %s\n", what);
  std::_Exit(1);
}

struct base {
  virtual ~base() = default;
};
struct knows_itself : base, std::enable_shared_from_this<knows_itself> {
  explicit knows_itself(int n) : number(n) {}
  int number;
};

constexpr std::size_t many = 1000;
std::array<std::shared_ptr<base>, many> held;
std::array<std::weak_ptr<base>, many> watched;

// The counter works; otherwise the other tests would mean nothing.
void mallocs_are_seen() {
  const no_heap_scope mallocs(&no_heap_scope::count_use);
  held[0] = std::make_shared<knows_itself>(1);
  expect(mallocs.uses() == 1, "make_shared is one malloc");
  held[0] = std::shared_ptr<base>(new knows_itself(2));
  expect(mallocs.uses() == 3, "new and its counts are two mallocs");
  held[0] = nullptr;
}

void node_bytes_is_what_containers_ask_for() {
  const auto same = [](const char* container, std::size_t told, std::size_t asked) {
    expect(told == asked, container);
  };
  ashlar_test::compare_nodes_of<char>(same);
  ashlar_test::compare_nodes_of<double>(same);
  ashlar_test::compare_nodes_of<std::string>(same);
}

// Fills and empties everything, after a first object, and again: only cells are requested.
template <class Make>
void nothing_but_cells(Make make, const char* what) {
  held[0] = make(0);
  held[0] = nullptr;
  const no_heap_scope mallocs(&no_heap_scope::count_use);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < many; ++i) watched[i] = held[i] = make(static_cast<int>(i));
    for (std::size_t i = 0; i < many; ++i) expect(held[i].use_count() == 1 && watched[i].lock() == held[i], what);
    for (auto& each : held) each = nullptr;
    for (auto& each : watched) expect(each.expired(), what);
    for (auto& each : watched) each.reset();
  }
  expect(mallocs.uses() == 0, what);
}

void shared_objects_ask_malloc_for_nothing() {
  ashlar::block_pool<> pool(ashlar::shared_cell_options<knows_itself>());
  ashlar::fixed_block_pool<ashlar::most_shared_cell_bytes<knows_itself>> fixed;
  ashlar::shared_block_pool<> shared(ashlar::shared_cell_options<knows_itself>());
  nothing_but_cells([&](int n) { return allocate_shared_pooled<knows_itself>(pool, n); }, "a block_pool");
  nothing_but_cells([&](int n) { return allocate_shared_pooled<knows_itself>(fixed, n); }, "a fixed_block_pool");
  nothing_but_cells([&](int n) { return allocate_shared_pooled<knows_itself>(shared, n); }, "a shared_block_pool");
  nothing_but_cells([](int n) { return allocate_shared_pooled<knows_itself>(n); }, "the process, any thread");
  nothing_but_cells([](int n) { return allocate_shared_pooled<knows_itself, one_thread>(n); }, "the process, no lock");
  nothing_but_cells([](int n) { return allocate_shared_pooled<knows_itself, std::mutex>(n); }, "the process, a mutex");
  expect(pool.live() + fixed.live() + shared.live() == 0, "all cells came back");
}

// The cell is exactly as large as the library's request: one byte less, and the upstream would serve it.
template <class T>
void measures_exactly() {
  ashlar::block_pool<> pool(ashlar::shared_cell_options<T>());
  const std::shared_ptr<T> p = allocate_shared_pooled<T>(pool);
  expect(pool.live() == 1 && pool.owns(p.get()), "the object is in a cell");
  expect(pool.cell_bytes() == ashlar::shared_cell_bytes<T>(), "the cell is as large as was said");
  expect(pool.cell_bytes() <= ashlar::most_shared_cell_bytes<T>, "the bound is one");
}

void cells_are_measured() {
  struct empty {};
  struct alignas(64) aligned {
    std::array<char, 100> bytes = {};
  };
  const no_heap_scope mallocs(&no_heap_scope::count_use);
  static_cast<void>(ashlar::shared_cell_options<std::string>());
  static_cast<void>(ashlar::shared_cell_options<aligned>());
  expect(mallocs.uses() == 0, "measuring asks malloc for nothing");
  measures_exactly<char>();
  measures_exactly<long double>();
  measures_exactly<std::string>();
  measures_exactly<std::array<char, 1001>>();
  measures_exactly<empty>();
  measures_exactly<aligned>();
}

void a_weak_pointer_keeps_the_cell() {
  ashlar::block_pool<> pool(ashlar::shared_cell_options<witness>());
  witness::start();
  std::shared_ptr<witness> strong = allocate_shared_pooled<witness>(pool, 5);
  std::weak_ptr<witness> weak = strong;
  strong.reset();
  expect(witness::live() == 0 && pool.live() == 1, "the object went, its cell did not");
  weak.reset();
  expect(pool.live() == 0, "the cell went with the last weak pointer");
}

void the_last_owner_is_in_another_thread() {
  auto mine = allocate_shared_pooled<knows_itself>(3);
  std::size_t live = 0;
  std::thread([theirs = std::move(mine)]() mutable { theirs.reset(); }).join();
  ashlar::with_shared_pool<knows_itself>([&](auto& pool) { live = pool.live(); });
  expect(live == 0, "a cell comes back from another thread");
}

void unique_pointers_own() {
  ashlar::block_pool<> pool({.cell_bytes = 128});
  static_assert(sizeof(ashlar::unique_from<int, ashlar::new_delete_resource>) == sizeof(void*));
  static_assert(sizeof(ashlar::unique_from<int, ashlar::block_pool<>>) == 2 * sizeof(void*));
  ashlar::unique_base_from<base, ashlar::block_pool<>> any = allocate_unique<knows_itself>(pool, 4);
  const auto numbers = allocate_unique<int[]>(pool, 20);
  const auto text = allocate_unique<std::string>(ashlar::new_delete_resource(), std::string(50, 'a'));
  expect(numbers[19] == 0 && text->size() == 50 && pool.live() == 2, "objects and arrays are made");
  any.reset();
  expect(pool.live() == 1, "an object goes through its base");
}

void nothing_is_lost_where_a_constructor_throws() {
#if defined(__cpp_exceptions)
  ashlar::block_pool<> pool({.cell_bytes = 128});
  for (std::size_t index = 0; index < 5; ++index) {
    witness::start(index);
    try {
      static_cast<void>(allocate_unique<witness[]>(pool, 5));
      expect(false, "the constructor threw");
    } catch (const ashlar_test::refused_to_be&) {
    }
    expect(witness::all_destroyed_in_reverse() && pool.live() == 0, "what was made is gone");
  }
  witness::start(0);
  try {
    static_cast<void>(allocate_shared_pooled<witness>(pool));
    expect(false, "the constructor threw");
  } catch (const ashlar_test::refused_to_be&) {
  }
  expect(pool.live() == 0, "the cell of a shared object is free again");
#endif
}

template <class Lock>
void containers_live_in_pools() {
  std::list<int, ashlar::pool_allocator<int, Lock>> numbers;
  std::map<int, std::string, std::less<>, ashlar::pool_allocator<std::pair<const int, std::string>, Lock>> names;
  std::set<int, std::less<>, ashlar::pool_allocator<int, Lock>> ordered;
  std::unordered_map<int, int, std::hash<int>, std::equal_to<>, ashlar::pool_allocator<std::pair<const int, int>, Lock>>
      hashed;
  std::vector<int, ashlar::pool_allocator<int, Lock>> array;
  for (int i = 0; i < 2000; ++i) {
    numbers.push_back(i);
    names.try_emplace(i, "a name");
    ordered.insert(i);
    hashed.emplace(i, i);
    array.push_back(i);
  }
  auto copy = names;
  copy.merge(names);
  auto moved = std::move(numbers);
  moved.remove_if([](int n) { return n % 2 == 0; });
  expect(copy.size() == 2000 && moved.size() == 1000 && ordered.size() + hashed.size() == 4000, "containers work");
  hashed.erase(7);
  expect(!hashed.contains(7) && array[1999] == 1999, "containers forget");
}

template <class Counts>
void counters_count() {
  auto* const owners = Counts::make();
  owners->add();
  expect(!Counts::drop(owners) && Counts::drop(owners), "the second owner is the last");
}

std::string_view library() {
#if defined(_LIBCPP_VERSION)
  return "libc++";
#else
  return "the compiler's standard library";
#endif
}

}  // namespace

int main() {
  mallocs_are_seen();
  shared_objects_ask_malloc_for_nothing();
  cells_are_measured();
  a_weak_pointer_keeps_the_cell();
  the_last_owner_is_in_another_thread();
  unique_pointers_own();
  nothing_is_lost_where_a_constructor_throws();
  containers_live_in_pools<one_thread>();
  containers_live_in_pools<thread_cached>();
  node_bytes_is_what_containers_ask_for();
  counters_count<ashlar::process_counted_pool<>>();
  counters_count<ashlar::process_counted_pool<thread_cached>>();
  std::printf("good with %.*s\n", static_cast<int>(library().size()), library().data());
  return 0;
}
