// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads and closes a library that uses thread-cached pools and heaps, with threads that end before, meanwhile and
// after.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <set>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/support/loader.hpp"
#include "tests/threads/first_use.hpp"

namespace {

using work_function = int (*)(int);
template <class R>
using share_function = int (*)(R*, void**, int);

struct resources {
  ashlar::shared_block_pool<> pool{{.cell_bytes = 64}};  // the same number as the library's, if each counts alone
  ashlar::heap<> heap;
};

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "plugin_host: not so: %s\n", what);
  std::_Exit(1);
}

void use_own_pool() {
  std::list<int, ashlar::pool_allocator<int, ashlar::thread_cached>> mine(500, 1);
  mine.resize(100);
}

void use(ashlar::heap<>& all) {
  std::vector<void*> blocks(2000);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = all.allocate(1 + i * 13 % 9000);
  for (void* const each : blocks) all.deallocate(each);
}

// Blocks of a resource of the host pass between its code and the code of the library.
template <class R>
void share(share_function<R> with, R& all) {
  std::vector<void*> blocks(500);
  for (void*& each : blocks) each = all.allocate(64, 8);
  expect(with(&all, blocks.data(), 500) == 500, "the library uses a resource of the host beside its own");
  std::set<void*> different;
  for (void* const each : blocks) {
    expect(all.owns(each), "the host's blocks are of its resource");
    expect(different.insert(each).second, "no block is given twice");
    all.deallocate(each, 64, 8);
  }
  expect(all.invariant(), "the host's resource is sound");
}

template <class F>
F function_of(void* library, const char* name) {
  const auto found = reinterpret_cast<F>(::dlsym(library, name));
  expect(found != nullptr, name);
  return found;
}

template <class F>
void expect_child(F work) {
  const pid_t child = ::fork();  // nothing of a closed library is called
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 1;
  expect(::waitpid(child, &status, 0) == child && status == 0, "a child works");
}

void load_use_and_close(const char* path, resources& all) {
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  expect(library != nullptr, "the library opens");
  const auto work = function_of<work_function>(library, "ashlar_plugin_work");
  const auto with_pool = function_of<share_function<ashlar::shared_block_pool<>>>(library, "ashlar_plugin_share");
  const auto with_heap = function_of<share_function<ashlar::heap<>>>(library, "ashlar_plugin_share_heap");
  std::thread([&] { share(with_pool, all.pool), share(with_heap, all.heap); }).join();
  std::thread([work] { expect(work(3000) == 3003, "it works in a thread that ends before it is closed"); }).join();

  std::atomic<int> stage = 0;
  std::thread outliving([&] {
    use_own_pool();  // registers its end before the library does
    expect(work(2000) == 2003, "it works in a thread that ends after it is closed");
    use_own_pool();
    use(all.heap);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  expect(::dlclose(library) == 0, "the library closes");
  use_own_pool();
  use(all.heap);
  stage = 2;
  outliving.join();
  std::thread(use_own_pool).join();

  // Its threads kept it loaded. Now nothing does (except inline variables of g++, which stay for good).
  void* const again = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  expect(again != nullptr && ::dlclose(again) == 0, "the library opens and closes again");
}

// Expects: nothing keeps the library loaded.
void use_after_library(const char* path) {
  static ashlar_test::first_used hosts;
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  expect(library != nullptr, "the library opens");
  const auto use = function_of<void (*)(ashlar_test::first_used*)>(library, "ashlar_plugin_use_first");
  std::thread([use] { use(&hosts); }).join();
  expect(::dlclose(library) == 0, "the library closes");
  hosts.use();
  expect_child([] { hosts.use(); });
}

}  // namespace

int main(int count, char** arguments) {
  expect(count == 2, "one argument: the library");
  ashlar_test::skip_without_loader();
  use_after_library(arguments[1]);
  resources all;
  for (int round = 0; round < 20; ++round) load_use_and_close(arguments[1], all);
  static_cast<void>(all.heap.trim());
  expect(all.heap.invariant() && all.heap.held_bytes() == 0, "all memory of the heap goes back");
  expect_child([&] {
    use_own_pool();
    all.heap.deallocate(all.heap.allocate(64));
  });
  std::puts("plugin: good");
  return 0;
}
