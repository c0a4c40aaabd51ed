// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads and closes a library that uses thread-cached pools, with threads that end before, meanwhile and after.
#include <atomic>
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
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/support/loader.hpp"

namespace {

using work_function = int (*)(int);
using share_function = int (*)(ashlar::shared_block_pool<>*, void**, int);

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "plugin_host: not so: %s\n", what);
  std::_Exit(1);
}

void use_own_pool() {
  std::list<int, ashlar::pool_allocator<int, ashlar::thread_cached>> mine(500, 1);
  mine.resize(100);
}

// Cells of a pool of the host pass between its code and the code of the library.
void share(share_function with, ashlar::shared_block_pool<>& all) {
  std::vector<void*> cells(500);
  for (void*& each : cells) each = all.allocate();
  expect(with(&all, cells.data(), 500) == 500, "the library uses a pool of the host beside its own");
  std::set<void*> different;
  for (void* const each : cells) {
    expect(all.owns(each), "the host's cells are of its pool");
    expect(different.insert(each).second, "no cell is given twice");
    all.deallocate(each);
  }
}

void load_use_and_close(const char* path, ashlar::shared_block_pool<>& all) {
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  expect(library != nullptr, "the library opens");
  const auto work = reinterpret_cast<work_function>(::dlsym(library, "ashlar_plugin_work"));
  expect(work != nullptr, "the library has its function");
  const auto with = reinterpret_cast<share_function>(::dlsym(library, "ashlar_plugin_share"));
  expect(with != nullptr, "the library has its other function");
  std::thread([&] { share(with, all); }).join();
  std::thread([work] { expect(work(3000) == 3003, "it works in a thread that ends before it is closed"); }).join();

  std::atomic<int> stage = 0;
  std::thread outliving([&] {
    use_own_pool();  // registers its end before the library does
    expect(work(2000) == 2003, "it works in a thread that ends after it is closed");
    use_own_pool();
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  expect(::dlclose(library) == 0, "the library closes");
  use_own_pool();
  stage = 2;
  outliving.join();
  std::thread(use_own_pool).join();

  // Its threads kept it loaded. Now nothing does (except inline variables of g++, which stay for good).
  void* const again = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  expect(again != nullptr && ::dlclose(again) == 0, "the library opens and closes again");
}

}  // namespace

int main(int count, char** arguments) {
  expect(count == 2, "one argument: the library");
  ashlar_test::skip_without_loader();
  ashlar::shared_block_pool<> all({.cell_bytes = 64});  // the same number as the library's pool, if each counts alone
  for (int round = 0; round < 20; ++round) load_use_and_close(arguments[1], all);
  const pid_t child = ::fork();  // nothing of a closed library is called
  if (child == 0) {
    use_own_pool();
    ::_exit(0);
  }
  int status = 1;
  expect(::waitpid(child, &status, 0) == child && status == 0, "a child works");
  std::puts("plugin: good");
  return 0;
}
