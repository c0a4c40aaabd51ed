// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that allocates before main, while the process exits, and around a fork.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/malloc/rule.hpp"

namespace malloc_rules {
namespace {

constexpr int exit_handlers = 70;
constexpr int fork_handlers = 60;  // glibc's list of them grows by malloc from the 49th on

/// Shared with all children, so that a parent counts what ran in a child.
struct counts {
  std::atomic<int> exits;
  std::atomic<int> quick_exits;
  std::atomic<int> static_destructors;
  std::atomic<int> thread_local_destructors;
  std::atomic<int> before_forks;
  std::atomic<int> in_parents;
  std::atomic<int> in_children;
};

// ---- Callers of malloc before main: a resolver of the loader, preinit_array, constructors of the first priority.
constexpr std::size_t sizes[] = {1, 24, 700, 9000, 100'000, 5'000'000};
constexpr std::size_t sizes_of_handlers[] = {1, 24, 700, 9000, 300'000};
constexpr std::size_t marked_bytes = 64;

/// A block of each size that an early caller keeps until main.
struct kept_blocks {
  void* blocks[std::size(sizes)];
  bool is_made;

  void make() {
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      blocks[i] = i % 2 == 0 ? std::malloc(sizes[i]) : std::calloc(1, sizes[i]);
      expect(blocks[i] != nullptr, "no memory for an early caller", sizes[i]);
      fill(blocks[i], sizes[i], i);
    }
    is_made = true;
  }
  void free() {
    expect(is_made, "an early caller was not called");
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      expect(is_filled(blocks[i], sizes[i], i), "a block of an early caller changed", sizes[i]);
      std::free(blocks[i]);
    }
  }
};

constinit kept_blocks of_preinit{};
constinit kept_blocks of_first_constructor{};
constinit kept_blocks of_static_object{};
constinit kept_blocks of_freed_early{};

counts* shared;
counts& counted() { return *shared; }

/// Effects: a block from each function of the family, of each kind of size; ends the process if one is wrong.
void use_malloc() {
  for (const std::size_t n : sizes_of_handlers) {
    const std::size_t marked = std::min(n, marked_bytes);
    void* p = std::malloc(n);
    expect(p != nullptr, "malloc failed", n);
    fill(p, marked, n);
    p = std::realloc(p, n + n / 2);
    expect(p != nullptr && is_filled(p, marked, n), "realloc failed", n);
    std::free(p);
    void* const zero = std::calloc(3, n);
    expect(zero != nullptr && is_zero(zero, marked), "calloc failed", n);
    std::free(zero);
    void* const aligned = ::memalign(512, n);
    expect(aligned != nullptr && is_aligned(aligned, 512), "memalign failed", n);
    std::free(aligned);
    ::operator delete(::operator new(n));
  }
}

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

void before_constructors(int, char**, char**) {
  void* const page = ::mmap(nullptr, sizeof(counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  shared = ::new (page) counts{};
  use_malloc();
  of_preinit.make();
  of_freed_early.make();
  register_handlers(fork_handlers / 3);
}
__attribute__((section(".preinit_array"), used)) void (*const preinit)(int, char**, char**) = before_constructors;

__attribute__((constructor(101))) void first_constructor() {
  use_malloc();
  of_freed_early.free();
  of_first_constructor.make();
  register_exit_handlers();
  register_handlers(fork_handlers - fork_handlers / 3);
}

struct static_object {
  std::string text = std::string(1000, 's');
  static_object() { of_static_object.make(); }
  ~static_object() {
    expect(text == std::string(1000, 's'), "a static object changed");
    use_malloc();
    ++counted().static_destructors;
  }
};
static_object object;

RULE(early_callers, by_preinit_array) { of_preinit.free(); }
RULE(early_callers, by_the_first_constructor) { of_first_constructor.free(); }
RULE(early_callers, by_a_static_object) { of_static_object.free(); }

// ---- Code that allocates while the process exits: handlers, static destructors, thread_local objects, other threads.
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

// ---- Handlers of fork that allocate, registered before and after the malloc's own.
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
}  // namespace malloc_rules
