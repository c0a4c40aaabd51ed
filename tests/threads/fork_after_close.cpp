// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Closes the library that first had a fork-safe lock: forks still wait for the locks of the program.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/resource/block_pool.hpp>

#include "tests/support/loader.hpp"

namespace {

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fork_after_close: not so: %s\n", what);
  std::_Exit(1);
}

int reports = 0;

void* open_and_work(const char* path) {
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  expect(library != nullptr, "the library opens");
  const auto work = reinterpret_cast<void (*)()>(::dlsym(library, "ashlar_fork_work"));
  expect(work != nullptr, "the library has its function");
  const int before = reports;
  work();
  expect(reports == before + 1, "the library reports to the handler of the program");
  return library;
}

ashlar::synchronized<ashlar::block_pool<>> pool(ashlar::block_pool_options{.cell_bytes = 64});

void use_pool() { pool.deallocate(pool.allocate(64, 8), 64, 8); }

[[nodiscard]] bool child_uses_pool() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    use_pool();
    ::_exit(0);
  }
  int status = 1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

// The other thread holds the lock nearly always.
void fork_often() {
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) use_pool();
  });
  for (int round = 0; round < 100; ++round) expect(child_uses_pool(), "a child uses what another thread uses");
  stop = true;
  other.join();
}

}  // namespace

int main(int count, char** arguments) {
  expect(count == 2, "one argument: the library");
  ashlar_test::skip_without_loader();
  ashlar::set_outsized_handler([](const ashlar::outsized_blocks&) noexcept { ++reports; });
  expect(::dlclose(open_and_work(arguments[1])) == 0, "the library closes");
  use_pool();
  fork_often();
  void* const again = open_and_work(arguments[1]);  // now both may have handlers
  fork_often();
  expect(::dlclose(again) == 0, "the library closes again");
  fork_often();
  std::puts("fork_after_close: good");
  return 0;
}
