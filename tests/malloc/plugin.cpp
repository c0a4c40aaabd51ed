// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library that allocates while it is loaded, in the threads that use it, and while it is unloaded.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

std::vector<std::string> texts(100, std::string(300, 'p'));
std::atomic<void*> received{nullptr};

struct in_thread {
  std::string text = std::string(200, 't');
  ~in_thread() { text.append(1000, 'u'); }
};
thread_local in_thread here;

__attribute__((constructor)) void load() { texts.emplace_back(5000, 'q'); }
__attribute__((destructor)) void unload() { std::free(received); }

}  // namespace

/// Returns: a block that the caller frees, perhaps after this library is gone.
extern "C" void* plugin_make(std::size_t bytes) {
  void* const p = std::malloc(bytes);
  if (p != nullptr) std::memset(p, 'm', bytes);
  return p;
}

/// Effects: frees `block` while this library is unloaded.
extern "C" void plugin_take(void* block) { std::free(received.exchange(block)); }

/// Returns: whether both calls of the loader open the library.
extern "C" bool plugin_opens(const char* file) {
  void* const opened = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr || ::dlclose(opened) != 0) return false;
  void* const again = ::dlmopen(LM_ID_BASE, file, RTLD_NOW | RTLD_LOCAL);
  return again != nullptr && ::dlclose(again) == 0;
}

/// Effects: uses the thread_local object, so that its destructor runs at the end of the thread.
extern "C" std::size_t plugin_touch() { return here.text.size(); }
