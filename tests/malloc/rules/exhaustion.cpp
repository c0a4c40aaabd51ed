// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A process at its limit of address space: null and ENOMEM, no abort; then memory is found again.
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <thread>

#include "tests/malloc/rule.hpp"
#include "tests/malloc/rules/concepts.hpp"

namespace malloc_rules {
namespace {

std::size_t address_space() {
  char text[100] = {};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const bool is_read = ::read(file, text, sizeof text - 1) > 0;
  ::close(file);
  expect(is_read, "no /proc/self/statm");
  return std::strtoull(text, nullptr, 10) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void limit_to(std::size_t more) {
  const rlimit limit{address_space() + more, RLIM_INFINITY};
  expect(::setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit failed");
}

void lift_limit() {
  const rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  expect(::setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit failed");
}

/// Blocks linked through their first words, so that the list needs no memory of its own.
struct link {
  link* next;
};

std::size_t take_all(link*& list, std::size_t bytes) {
  std::size_t count = 0;
  for (;; ++count) {
    errno = 0;
    void* const p = std::malloc(bytes);
    if (p == nullptr) break;
    list = ::new (p) link{list};
  }
  expect(errno == ENOMEM, "malloc failed without ENOMEM", bytes);
  return count;
}

/// Effects: leaves no room for a block of 16 bytes.
void take_everything(link*& list) {
  for (std::size_t bytes = std::size_t{4} << 20; bytes >= 16; bytes /= 2) take_all(list, bytes);
}

void release(link*& list) {
  while (list != nullptr) {
    link* const each = list;
    list = each->next;
    std::free(each);
  }
}

void gives_null_and_recovers() {
  limit_to(std::size_t{200} << 20);
  link* list = nullptr;
  for (const std::size_t n : {std::size_t{1} << 20, std::size_t{40'000}, std::size_t{1000}}) {
    expect(take_all(list, n) * n > (std::size_t{50} << 20), "too little memory was found", n);
    release(list);
  }
  void* const p = std::malloc(std::size_t{30} << 20);
  expect(p != nullptr, "freed memory is not found again");
  std::free(p);
}

void of_every_function() {
  limit_to(std::size_t{64} << 20);
  link* list = nullptr;
  take_everything(list);
  const std::size_t n = std::size_t{8} << 20;
  void* p = nullptr;
  expect(std::calloc(1, n) == nullptr && errno == ENOMEM, "calloc");
  expect(::memalign(4096, n) == nullptr && errno == ENOMEM, "memalign");
  expect(::posix_memalign(&p, 4096, n) == ENOMEM, "posix_memalign");
  expect(::valloc(n) == nullptr && errno == ENOMEM, "valloc");
  expect(::operator new(n, std::nothrow) == nullptr, "new (nothrow)");
  release(list);
}

void growth_keeps_the_block() {
  limit_to(std::size_t{64} << 20);
  void* const p = std::malloc(100'000);
  fill(p, 100'000, 7);
  link* list = nullptr;
  take_everything(list);
  errno = 0;
  expect(std::realloc(p, std::size_t{32} << 20) == nullptr && errno == ENOMEM, "realloc found memory");
  expect(is_filled(p, 100'000, 7), "a realloc that failed changed the block");
  release(list);
  std::free(p);
}

// glibc never fails to shrink; callers ignore the result.
void shrink_never_fails() {
  const std::size_t sizes[] = {40, 100, 1000, 5000, 40'000, 300'000, 3'000'000, 20'000'000};
  void* blocks[std::size(sizes)];
  limit_to(std::size_t{100} << 20);
  for (std::size_t i = 0; i < std::size(sizes); ++i) fill(blocks[i] = std::malloc(sizes[i]), sizes[i], i);
  link* list = nullptr;
  take_everything(list);
  for (std::size_t part = 2; part <= 128; part *= 4)
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      const std::size_t to = sizes[i] / part + 1;
      void* const p = std::realloc(blocks[i], to);
      expect(p != nullptr, "realloc to less failed", sizes[i]);
      expect(is_filled(p, to, i), "realloc to less lost contents", sizes[i]);
      blocks[i] = p;
      take_all(list, 16);
    }
  release(list);
  for (void* p : blocks) std::free(p);
}

void of_new_is_bad_alloc() {
  limit_to(std::size_t{64} << 20);
  link* list = nullptr;
  take_everything(list);
  int caught = 0;
  for (int i = 0; i < 100; ++i) {
    try {
      ::operator delete(::operator new(std::size_t{8} << 20));
    } catch (const std::bad_alloc&) {
      ++caught;
    }
  }
  expect(caught == 100, "new did not throw", static_cast<std::size_t>(caught));
  release(list);
}

void of_a_fork() {
  limit_to(std::size_t{64} << 20);
  static link* list = nullptr;
  take_everything(list);
  expect_good_child([] { release(list); }, "a child of a process at its limit failed");
  release(list);
}

void of_other_threads() {
  static std::atomic<bool> is_limited{false};
  std::thread threads[4];
  for (std::thread& each : threads)
    each = std::thread{[] {
      std::free(std::malloc(100));
      while (!is_limited) std::this_thread::yield();
      for (int round = 0; round < 5; ++round) {
        link* list = nullptr;
        take_all(list, 100'000);
        take_all(list, 1000);
        release(list);
      }
    }};
  limit_to(std::size_t{160} << 20);
  is_limited = true;
  for (std::thread& each : threads) each.join();
  void* const p = std::malloc(std::size_t{4} << 20);
  expect(p != nullptr, "memory that threads freed is not found again");
  std::free(p);
  lift_limit();
}

constexpr rule rules[] = {
    {"exhaustion.gives_null_and_recovers", gives_null_and_recovers},
    {"exhaustion.of_every_function", of_every_function},
    {"exhaustion.growth_keeps_the_block", growth_keeps_the_block},
    {"exhaustion.shrink_never_fails", shrink_never_fails},
    {"exhaustion.of_new_is_bad_alloc", of_new_is_bad_alloc},
    {"exhaustion.of_a_fork", of_a_fork},
    {"exhaustion.of_other_threads", of_other_threads},
};

}  // namespace

std::span<const rule> rules_of_exhaustion() { return rules; }

}  // namespace malloc_rules
