// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads and closes a library with a heap, with threads that end before and after, and also use a heap of the host.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/heap/heap.hpp>

#include "tests/support/loader.hpp"

namespace {

using work_function = int (*)(int);
using share_function = int (*)(ashlar::heap<>*, void**, int);

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "heap_plugin_host: not so: %s\n", what);
  std::_Exit(1);
}

void use(ashlar::heap<>& all) {
  std::vector<void*> blocks(2000);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = all.allocate(1 + i * 13 % 9000);
  for (void* const each : blocks) all.deallocate(each);
}

// Blocks of a heap of the host pass between its code and the code of the library.
void share(share_function with, ashlar::heap<>& all) {
  std::vector<void*> blocks(500);
  for (void*& each : blocks) each = all.allocate(64);
  expect(with(&all, blocks.data(), 500) == 500, "the library uses a heap of the host beside its own");
  std::set<void*> different;
  for (void* const each : blocks) {
    expect(different.insert(each).second, "no block is given twice");
    all.deallocate(each);
  }
  for (void*& each : blocks) each = all.allocate(64);
  for (void* const each : blocks) expect(all.owns(each), "the host's heap has blocks of its own"), all.deallocate(each);
  expect(all.invariant(), "the host's heap is sound");
}

void load_use_and_close(const char* path, ashlar::heap<>& all) {
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  expect(library != nullptr, "the library opens");
  const auto work = reinterpret_cast<work_function>(::dlsym(library, "ashlar_heap_plugin_work"));
  expect(work != nullptr, "the library has its function");
  const auto with = reinterpret_cast<share_function>(::dlsym(library, "ashlar_heap_plugin_share"));
  expect(with != nullptr, "the library has its other function");
  std::thread([&] { share(with, all); }).join();
  std::thread([work] { expect(work(3000) == 3000, "it works in a thread that ends before it is closed"); }).join();

  std::atomic<int> stage = 0;
  std::thread outliving([&] {
    expect(work(2000) == 2000, "it works in a thread that ends after it is closed");
    use(all);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  expect(::dlclose(library) == 0, "the library closes");
  use(all);
  stage = 2;
  outliving.join();

  // Its threads kept it loaded. Now nothing does (except inline variables of g++, which stay for good).
  void* const again = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  expect(again != nullptr && ::dlclose(again) == 0, "the library opens and closes again");
}

}  // namespace

int main(int count, char** arguments) {
  expect(count == 2, "one argument: the library");
  ashlar_test::skip_without_loader();
  ashlar::heap<> all;  // the same number as the library's own heap, if each counts separately
  for (int round = 0; round < 20; ++round) load_use_and_close(arguments[1], all);
  expect(all.invariant(), "the heap is sound");
  static_cast<void>(all.trim());
  expect(all.held_bytes() == 0, "all memory goes back");
  const pid_t child = ::fork();  // nothing of a closed library is called
  if (child == 0) {
    all.deallocate(all.allocate(64));
    ::_exit(0);
  }
  int status = 1;
  expect(::waitpid(child, &status, 0) == child && status == 0, "a child works");
  std::puts("heap_plugin: good");
  return 0;
}
