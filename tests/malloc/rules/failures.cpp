// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Failures: errno, and a process without memory.
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "tests/malloc/rule.hpp"

namespace malloc_rules {
namespace {

[[nodiscard]] std::size_t excess() { return hidden(std::size_t{PTRDIFF_MAX} + 1); }

// ---- errno: free keeps it (POSIX.1-2024, glibc since 2.33), failures set ENOMEM.
constexpr int kept = 4711;
constexpr std::size_t failing_sizes[] = {0, 1, 16, 100, 1024, 40'000, 1 << 20, 5 << 20, 64 << 20};

void free_with_errno(void* p, std::size_t n) {
  errno = kept;
  std::free(p);
  expect(errno == kept, "free changed errno", n);
}

RULE(errno, kept_by_free) {
  free_with_errno(nullptr, 0);
  for (const std::size_t n : failing_sizes) {
    void* blocks[40];
    const std::size_t count = n > 100'000 ? 3 : 40;
    for (std::size_t i = 0; i < count; ++i) blocks[i] = std::malloc(n);
    for (std::size_t i = 0; i < count; ++i) free_with_errno(blocks[i], n);
  }
}

RULE(errno, kept_by_free_of_another_thread) {
  for (const std::size_t n : failing_sizes) {
    void* const p = std::malloc(n);
    std::thread{[=] { free_with_errno(p, n); }}.join();
  }
}

RULE(errno, kept_by_the_free_that_unmaps) {
  void* blocks[64];
  for (void*& p : blocks) fill(p = std::malloc(1 << 20), 1 << 20, 0);
  for (void* p : blocks) free_with_errno(p, 1 << 20);
}

template <class F>
void expect_enomem(const char* what, F f) {
  errno = 0;
  void* const p = f();
  expect(p == nullptr, what, 1);
  expect(errno == ENOMEM, what, static_cast<std::size_t>(errno));
}

RULE(errno, set_by_failures) {
  expect_enomem("malloc", [] { return std::malloc(excess()); });
  expect_enomem("calloc", [] { return std::calloc(1, excess()); });
  expect_enomem("calloc of a product that wraps", [] { return std::calloc(excess(), 2); });
  expect_enomem("realloc of null", [] { return std::realloc(nullptr, excess()); });
  expect_enomem("reallocarray of null", [] { return ::reallocarray(nullptr, excess(), 2); });
  expect_enomem("aligned_alloc", [] { return std::aligned_alloc(64, excess()); });
  expect_enomem("memalign", [] { return ::memalign(64, excess()); });
  expect_enomem("valloc", [] { return ::valloc(excess()); });
  expect_enomem("pvalloc", [] { return ::pvalloc(excess()); });
}

RULE(errno, set_by_realloc_of_a_block) {
  for (const std::size_t n : failing_sizes) {
    void* const p = std::malloc(n);
    fill(p, n, n);
    expect_enomem("realloc", [=] { return std::realloc(p, excess()); });
    expect_enomem("reallocarray", [=] { return ::reallocarray(p, excess(), 4); });
    expect(is_filled(p, n, n), "a realloc that failed changed the block", n);
    std::free(p);
  }
}

// POSIX: the result is the error. Linux: the pointer is left as it is.
RULE(errno, of_posix_memalign) {
  int here = 0;
  void* const before = &here;
  void* p = before;
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{24}, SIZE_MAX}) {
    expect(::posix_memalign(&p, hidden(alignment), 8) == EINVAL, "posix_memalign accepts an alignment", alignment);
    expect(p == before, "posix_memalign changed the pointer", alignment);
  }
  for (const std::size_t n : {std::size_t{PTRDIFF_MAX} + 1, SIZE_MAX}) {
    expect(::posix_memalign(&p, 64, hidden(n)) == ENOMEM, "posix_memalign gave memory", n);
    expect(p == before, "posix_memalign changed the pointer", n);
  }
}

// ---- A process at its limit of address space: null and ENOMEM, no abort; then memory is found again.
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

/// A process at its limit, with blocks that end with this object.
struct exhausted {
  link* list = nullptr;

  explicit exhausted(std::size_t more) {
    limit_to(more);
    take_everything(list);
  }
  ~exhausted() { release(list); }
};

RULE(exhaustion, gives_null_and_recovers) {
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

RULE(exhaustion, of_every_function) {
  const exhausted here{std::size_t{64} << 20};
  const std::size_t n = std::size_t{8} << 20;
  void* p = nullptr;
  expect(std::calloc(1, n) == nullptr && errno == ENOMEM, "calloc");
  expect(::memalign(4096, n) == nullptr && errno == ENOMEM, "memalign");
  expect(::posix_memalign(&p, 4096, n) == ENOMEM, "posix_memalign");
  expect(::valloc(n) == nullptr && errno == ENOMEM, "valloc");
  expect(::operator new(n, std::nothrow) == nullptr, "new (nothrow)");
}

RULE(exhaustion, growth_keeps_the_block) {
  void* const p = std::malloc(100'000);
  fill(p, 100'000, 7);
  const exhausted here{std::size_t{64} << 20};
  errno = 0;
  expect(std::realloc(p, std::size_t{32} << 20) == nullptr && errno == ENOMEM, "realloc found memory");
  expect(is_filled(p, 100'000, 7), "a realloc that failed changed the block");
  std::free(p);
}

// glibc never fails to shrink; callers ignore the result.
RULE(exhaustion, shrink_never_fails) {
  const std::size_t shrinking[] = {40, 100, 1000, 5000, 40'000, 300'000, 3'000'000, 20'000'000};
  void* blocks[std::size(shrinking)];
  for (std::size_t i = 0; i < std::size(shrinking); ++i) fill(blocks[i] = std::malloc(shrinking[i]), shrinking[i], i);
  exhausted here{std::size_t{64} << 20};
  for (std::size_t part = 2; part <= 128; part *= 4)
    for (std::size_t i = 0; i < std::size(shrinking); ++i) {
      const std::size_t to = shrinking[i] / part + 1;
      void* const p = std::realloc(blocks[i], to);
      expect(p != nullptr, "realloc to less failed", shrinking[i]);
      expect(is_filled(p, to, i), "realloc to less lost contents", shrinking[i]);
      blocks[i] = p;
      take_all(here.list, 16);
    }
  for (void* p : blocks) std::free(p);
}

RULE(exhaustion, of_new_is_bad_alloc) {
  const exhausted here{std::size_t{64} << 20};
  int caught = 0;
  for (int i = 0; i < 100; ++i) {
    try {
      ::operator delete(::operator new(std::size_t{8} << 20));
    } catch (const std::bad_alloc&) {
      ++caught;
    }
  }
  expect(caught == 100, "new did not throw", static_cast<std::size_t>(caught));
}

RULE(exhaustion, of_a_fork) {
  static exhausted here{std::size_t{64} << 20};
  expect_good_child([] { release(here.list); }, "a child of a process at its limit failed");
}

RULE(exhaustion, of_other_threads) {
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

}  // namespace

}  // namespace malloc_rules
