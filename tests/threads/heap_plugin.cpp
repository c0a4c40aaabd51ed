// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library that is loaded and closed while threads that have used its heap still run.
#include <cstddef>
#include <vector>

#include <ashlar/heap/heap.hpp>

namespace {

// Ends while the library is being closed, with blocks of other threads in it.
ashlar::heap<> own;
void* kept = nullptr;

// Made after the heap, so that it is destroyed first.
struct last_use {
  ~last_use() {
    own.deallocate(kept);
    own.deallocate(own.allocate(1000));
  }
};
const last_use at_close;

}  // namespace

extern "C" int ashlar_heap_plugin_work(int count);

extern "C" int ashlar_heap_plugin_work(int count) {
  if (kept == nullptr) kept = own.allocate(100);
  std::vector<void*> mine;
  for (int i = 0; i < count; ++i) mine.push_back(own.allocate(static_cast<std::size_t>(1 + i * 37 % 50'000)));
  for (void* const each : mine) own.deallocate(each);
  return static_cast<int>(mine.size());
}

// Uses the host's heap and the library's own in turn. `handed` are the host's blocks.
extern "C" int ashlar_heap_plugin_share(ashlar::heap<>* hosts, void** handed, int count);

extern "C" int ashlar_heap_plugin_share(ashlar::heap<>* hosts, void** handed, int count) {
  std::vector<void*> mine = {own.allocate(64)};
  for (int i = 0; i < count; ++i) hosts->deallocate(handed[i]);
  int good = 0;
  for (int i = 0; i < count; ++i) {
    mine.push_back(own.allocate(64));
    handed[i] = hosts->allocate(64);  // for the host
    good += own.owns(mine.back()) && hosts->owns(handed[i]) ? 1 : 0;
  }
  for (void* const each : mine) own.deallocate(each);
  return good;
}
