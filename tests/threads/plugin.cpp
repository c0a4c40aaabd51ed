// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library that is loaded and closed while threads that have used its pools still run.
#include <array>
#include <list>
#include <vector>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/thread/thread_records.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

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

}  // namespace

extern "C" int ashlar_plugin_work(int count);

extern "C" int ashlar_plugin_work(int count) {
  use_own_records();
  use_own_pools();
  if (kept.empty()) kept = {1, 2, 3};
  numbers mine;
  for (int i = 0; i < count; ++i) mine.push_back(i);
  return static_cast<int>(mine.size() + kept.size());
}

// Uses the host's pool and the library's own in turn. `handed` are the host's cells.
extern "C" int ashlar_plugin_share(ashlar::shared_block_pool<>* hosts, void** handed, int count);

extern "C" int ashlar_plugin_share(ashlar::shared_block_pool<>* hosts, void** handed, int count) {
  std::vector<void*> mine = {own.allocate()};
  for (int i = 0; i < count; ++i) hosts->deallocate(handed[i]);
  int good = 0;
  for (int i = 0; i < count; ++i) {
    mine.push_back(own.allocate());
    handed[i] = hosts->allocate();  // for the host
    good += own.owns(mine.back()) && hosts->owns(handed[i]) ? 1 : 0;
  }
  for (void* const each : mine) own.deallocate(each);
  return good;
}
