// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program to stop in: one object of each type with a printer, and in `facts` the library's own figures about it.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>
#include <ashlar/face/slot_map.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>

namespace {

struct monster {
  int health;
  int armour;
};
struct shared_objects : ashlar::object_pool_traits {
  static constexpr std::size_t capacity = ashlar::dynamic_capacity;
  using threads = ashlar::any_thread<>;
};
struct message {
  std::uint32_t references = 0;
  int number = 0;
  friend std::uint32_t& ref_count(message& of) { return of.references; }
};

struct pool_facts {
  std::size_t live = 0, capacity = 0, slabs = 0;
  void* cells[3] = {};
};
struct heap_facts {
  std::size_t blocks = 0, bytes = 0, held = 0, segments = 0;
};
struct arena_facts {
  std::size_t used = 0, high_water = 0, held = 0;
};
struct object_facts {
  std::size_t live = 0, capacity = 0;
};
struct {
  pool_facts pool_cells, fixed_cells;
  arena_facts arena, buffered, empty_arena;
  object_facts bounded, inside, grown, of_any;
  heap_facts local, shared;
  ashlar::slot_map<monster>::handle kept, last;
} facts;

// An unconstructed object, as a debugger sees it before its declaration is reached.
template <class T>
T& damaged() {
  alignas(T) static unsigned char bytes[sizeof(T)];
  std::mt19937 random(7);
  for (unsigned char& each : bytes) each = static_cast<unsigned char>(random());
  return *reinterpret_cast<T*>(bytes);
}

auto& bad_pool = damaged<ashlar::block_pool<>>();
auto& bad_fixed = damaged<ashlar::fixed_block_pool<40, 8>>();
auto& bad_arena = damaged<ashlar::arena<>>();
auto& bad_local = damaged<ashlar::local_heap<>>();
auto& bad_shared = damaged<ashlar::heap<>>();
auto& bad_ref = damaged<ashlar::ref_ptr<monster>>();
auto& bad_map = damaged<ashlar::slot_map<monster>>();
auto& bad_objects = damaged<ashlar::object_pool<monster, ashlar::with_capacity<ashlar::dynamic_capacity>>>();

// Makes enough slabs for a tree, and leaves one live cell in each of the first two.
template <class Pool>
pool_facts use(Pool& pool) {
  pool_facts seen;
  seen.cells[0] = pool.allocate();
  std::vector<void*> others(2 * pool.capacity());
  for (void*& cell : others) cell = pool.allocate();
  seen.cells[1] = others.back();
  others.pop_back();
  seen.cells[2] = pool.allocate();
  for (void* const cell : others) pool.deallocate(cell);
  pool.deallocate(pool.allocate());
  seen.live = pool.live();
  seen.capacity = pool.capacity();
  seen.slabs = pool.slabs();
  return seen;
}

template <class Heap>
heap_facts facts_of(const Heap& heap) {
  const ashlar::heap_statistics now = ashlar::statistics_of(heap);
  return {now.all.live_blocks, now.all.live_bytes, now.held_bytes, now.segments};
}

template <class Heap>
void use_heap(Heap& heap) {
  for (std::size_t bytes : {24u, 24u, 100u, 5000u, 100'000u, 9'000'000u}) static_cast<void>(heap.allocate(bytes));
  heap.deallocate(heap.allocate(40));
  heap.deallocate(heap.allocate(300'000));
  for (int i = 0; i < 300; ++i) heap.deallocate(heap.allocate(64));
}

template <class Pool>
object_facts use_objects(Pool& pool) {
  static_cast<void>(pool.acquire(100, 0));
  monster* const gone = pool.acquire(101, 0);
  static_cast<void>(pool.acquire(102, 0));
  pool.release(gone);
  return {pool.live(), pool.capacity()};
}

template <class T>
[[gnu::noinline]] void keep(const T& object) {
  asm volatile("" : : "r"(&object) : "memory");
}

[[gnu::noinline]] void stop_here() { asm volatile(""); }

}  // namespace

int main() {
  ashlar::block_pool<> pool({.cell_bytes = 24});
  ashlar::fixed_block_pool<40, 8> fixed;
  ashlar::block_pool<> unused({.cell_bytes = 64});
  facts.pool_cells = use(pool);
  facts.fixed_cells = use(fixed);

  ashlar::arena<> arena, empty_arena;
  for (int i = 0; i < 3; ++i) static_cast<void>(arena.allocate(50'000, 16));
  facts.arena = {arena.used(), arena.high_water(), arena.held_bytes()};
  alignas(16) std::array<std::byte, 512> buffer;
  ashlar::arena<> buffered{buffer};
  static_cast<void>(buffered.allocate(100, 4));
  facts.buffered = {buffered.used(), buffered.high_water(), buffered.held_bytes()};

  ashlar::local_heap<> local;
  use_heap(local);
  facts.local = facts_of(local);
  ashlar::heap<> shared;
  use_heap(shared);
  std::thread([&shared] { use_heap(shared); }).join();
  facts.shared = facts_of(shared);

  ashlar::ref_pool<monster> monsters;
  ashlar::ref_ptr<monster> orc = monsters.make(50, 3);
  ashlar::ref_ptr<monster> same = orc, none;
  const ashlar::ref_ptr<monster>& constant = orc;
  ashlar::intrusive_pool<message> messages;
  auto counted = messages.make();
  ashlar::ref_pool<monster, ashlar::any_thread<>> of_threads;
  auto any = of_threads.make(7, 1);

  ashlar::object_pool<monster, ashlar::with_capacity<ashlar::dynamic_capacity>> bounded(8);
  ashlar::object_pool<monster, ashlar::with_capacity<8>> inside;
  ashlar::object_pool<monster> grown;
  ashlar::object_pool<monster, shared_objects> of_any(8);
  facts.bounded = use_objects(bounded);
  facts.inside = use_objects(inside);
  facts.grown = use_objects(grown);
  facts.of_any = use_objects(of_any);

  ashlar::slot_map<monster> map;
  const auto gone = map.emplace(1, 2);
  facts.kept = map.emplace(30, 4);
  map.erase(gone);
  facts.last = map.emplace(60, 5);

  keep(unused), keep(empty_arena), keep(same), keep(constant), keep(none), keep(counted), keep(any);

  stop_here();
  for (void* cell : facts.pool_cells.cells) pool.deallocate(cell);
  for (void* cell : facts.fixed_cells.cells) fixed.deallocate(cell);
  return 0;
}
