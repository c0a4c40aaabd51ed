// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library that is loaded and closed while threads that have used its pools still run.
#include <list>

#include <ashlar/base/lock.hpp>
#include <ashlar/face/pool_allocator.hpp>

namespace {

using numbers = std::list<int, ashlar::pool_allocator<int, ashlar::thread_cached>>;

// Filled by some thread, freed by the one that closes the library, while it is being closed.
numbers kept;

}  // namespace

extern "C" int ashlar_plugin_work(int count);

extern "C" int ashlar_plugin_work(int count) {
  if (kept.empty()) kept = {1, 2, 3};
  numbers mine;
  for (int i = 0; i < count; ++i) mine.push_back(i);
  return static_cast<int>(mine.size() + kept.size());
}
