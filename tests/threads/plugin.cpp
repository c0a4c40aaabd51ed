// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library that is loaded and closed while threads that have used its pools and its heap still run.
#include <array>
#include <cstddef>
#include <list>
#include <vector>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/thread/thread_records.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/threads/first_use.hpp"

namespace {

using numbers = std::list<int, ashlar::pool_allocator<int, ashlar::thread_cached>>;

// Filled by some thread, and freed by the thread that closes the library, during the close.
numbers kept;

ashlar::shared_block_pool<> own({.cell_bytes = 64});

// The host has no records of this size, so these are the library's, even if the host exports its names.
void use_own_records() {
  using records = ashlar::detail::record_cells<77 * 64>;
  if (void* const cell = records::try_allocate(); cell != nullptr) records::deallocate(cell);
}

// The same for process-wide pools: those of the library are never destroyed, but end with its memory.
void use_own_pools() {
  using item = std::array<char, 203>;
  std::list<item, ashlar::pool_allocator<item, ashlar::spin_lock>> locked(10);
  std::list<item, ashlar::pool_allocator<item, ashlar::thread_cached>> cached(10);
}

// Ends while the library is being closed, with blocks of other threads in it.
ashlar::heap<> own_heap;
void* kept_block = nullptr;

// Made after the heap, so that it is destroyed first.
struct last_use {
  ~last_use() {
    own_heap.deallocate(kept_block);
    own_heap.deallocate(own_heap.allocate(1000));
  }
};
const last_use at_close;

bool work_with_heap(int count) {
  if (kept_block == nullptr) kept_block = own_heap.allocate(100);
  std::vector<void*> mine;
  for (int i = 0; i < count; ++i) mine.push_back(own_heap.allocate(static_cast<std::size_t>(1 + i * 37 % 50'000)));
  for (void* const each : mine) own_heap.deallocate(each);
  return kept_block != nullptr;
}

// Uses a resource of the host and the library's own of its type in turn. `handed` are blocks of the host's.
template <class R>
int share(R& hosts, R& mine, void** handed, int count) {
  std::vector<void*> taken = {mine.allocate(64, 8)};
  for (int i = 0; i < count; ++i) hosts.deallocate(handed[i], 64, 8);
  int good = 0;
  for (int i = 0; i < count; ++i) {
    taken.push_back(mine.allocate(64, 8));
    handed[i] = hosts.allocate(64, 8);  // for the host
    good += mine.owns(taken.back()) && hosts.owns(handed[i]) ? 1 : 0;
  }
  for (void* const each : taken) mine.deallocate(each, 64, 8);
  return good;
}

}  // namespace

extern "C" int ashlar_plugin_work(int count);

extern "C" int ashlar_plugin_work(int count) {
  use_own_records();
  use_own_pools();
  if (!work_with_heap(count)) return 0;
  if (kept.empty()) kept = {1, 2, 3};
  numbers mine;
  for (int i = 0; i < count; ++i) mine.push_back(i);
  return static_cast<int>(mine.size() + kept.size());
}

extern "C" int ashlar_plugin_share(ashlar::shared_block_pool<>* hosts, void** handed, int count);
extern "C" int ashlar_plugin_share(ashlar::shared_block_pool<>* hosts, void** handed, int count) {
  return share(*hosts, own, handed, count);
}

extern "C" int ashlar_plugin_share_heap(ashlar::heap<>* hosts, void** handed, int count);
extern "C" int ashlar_plugin_share_heap(ashlar::heap<>* hosts, void** handed, int count) {
  return share(*hosts, own_heap, handed, count);
}

extern "C" void ashlar_plugin_use_first(ashlar_test::first_used* hosts);
extern "C" void ashlar_plugin_use_first(ashlar_test::first_used* hosts) { hosts->use(); }
