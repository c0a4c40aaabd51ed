// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that allocates while the process exits: handlers, static destructors, thread_local objects, other threads.
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/malloc/early/early.hpp"
#include "tests/malloc/rule.hpp"

namespace malloc_rules {
namespace {

struct in_main_thread {
  std::string text;
  ~in_main_thread() {
    use_malloc();
    if (!text.empty()) ++counted().thread_local_destructors;
  }
};
thread_local in_main_thread here;

RULE(exit, by_handlers) {
  expect_good_child([] {}, "exit of a child failed");
  expect(counted().exits == exit_handlers, "handlers of exit did not run", static_cast<std::size_t>(counted().exits));
}

RULE(exit, by_static_destructors) {
  expect_good_child([] {}, "exit of a child failed");
  expect(counted().static_destructors == 1, "a static destructor did not run");
}

RULE(exit, by_thread_local_objects) {
  expect_good_child([] { here.text = "used"; }, "exit of a child failed");
  expect(counted().thread_local_destructors == 1, "the thread_local object of main was not destroyed");
}

RULE(exit, by_quick_exit) {
  expect_good_child([] { std::quick_exit(0); }, "quick_exit of a child failed");
  expect(counted().quick_exits == 30, "handlers of quick_exit did not run");
}

RULE(exit, of_another_thread) {
  expect_good_child(
      [] {
        here.text = "used";
        std::thread{[] {
          here.text = "used";
          std::exit(0);
        }}.join();
      },
      "exit of a thread failed");
  expect(counted().exits == exit_handlers, "handlers of exit did not run", static_cast<std::size_t>(counted().exits));
}

RULE(exit, under_load) {
  for (int i = 0; i < 10; ++i)
    expect_good_child(
        [] {
          static const load* const running = new load;
          expect(running != nullptr, "no threads");
          ::usleep(2000);
        },
        "exit while threads allocate failed");
  expect(counted().exits == 10 * exit_handlers, "handlers of exit did not run");
}

// By an initialiser of before main.
void* made_early() {
  void* const p = std::malloc(2000);
  fill(p, 2000, 9);
  return p;
}
void* const block = made_early();

// A block of before main, freed by a handler of exit.
RULE(exit, of_early_blocks) {
  expect_good_child(
      [] {
        std::atexit([] {
          expect(is_filled(block, 2000, 9), "a block changed while the process exits");
          std::free(block);
          use_malloc();
        });
      },
      "exit of a child failed");
}

}  // namespace

void register_exit_handlers() {
  for (int i = 0; i < exit_handlers; ++i)
    expect(std::atexit([] {
             use_malloc();
             ++counted().exits;
           }) == 0,
           "atexit failed");
  for (int i = 0; i < 30; ++i)
    expect(std::at_quick_exit([] {
             use_malloc();
             ++counted().quick_exits;
           }) == 0,
           "at_quick_exit failed");
}

}  // namespace malloc_rules
