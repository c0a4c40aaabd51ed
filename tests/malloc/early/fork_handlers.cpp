// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Handlers of fork that allocate, registered before and after the malloc's own.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <thread>

#include "tests/malloc/early/early.hpp"
#include "tests/malloc/rule.hpp"

namespace malloc_rules {
namespace {

/// A block that the handlers before a fork leave to those after it, on both sides.
thread_local void* over_the_fork = nullptr;

void before_fork() {
  use_malloc();
  if (over_the_fork == nullptr) fill(over_the_fork = std::malloc(300), 300, 11);
  ++counted().before_forks;
}

void after_fork(std::atomic<int>& count) {
  expect(over_the_fork == nullptr || is_filled(over_the_fork, 300, 11), "a block changed by a fork");
  std::free(over_the_fork);
  over_the_fork = nullptr;
  use_malloc();
  ++count;
}

void register_handlers(int count) {
  for (int i = 0; i < count; ++i)
    expect(::pthread_atfork(
               before_fork, [] { after_fork(counted().in_parents); }, [] { after_fork(counted().in_children); }) == 0,
           "pthread_atfork failed");
}

void expect_counts(int forks) {
  const auto expected = forks * fork_handlers;
  expect(counted().before_forks == expected, "handlers before a fork did not run");
  expect(counted().in_parents == expected, "handlers in the parent did not run");
  expect(counted().in_children == expected, "handlers in the child did not run");
}

RULE(fork_handlers, of_one_fork) {
  expect_good_child([] { use_malloc(); }, "a child failed");
  expect_counts(1);
}

RULE(fork_handlers, under_load) {
  {
    const load running{3};
    for (int i = 0; i < 10; ++i) expect_good_child([] { std::thread{use_malloc}.join(); }, "a child failed");
  }
  expect_counts(10);
}

RULE(fork_handlers, of_a_fork_in_a_thread) {
  std::thread{[] { expect_good_child([] { use_malloc(); }, "a child failed"); }}.join();
  expect_counts(1);
}

}  // namespace

void register_first_fork_handlers() { register_handlers(fork_handlers / 3); }
void register_other_fork_handlers() { register_handlers(fork_handlers - fork_handlers / 3); }

}  // namespace malloc_rules
