// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that must find libashlar's malloc, by preload or by each way to link it: C and C++ blocks, and the failures
// of operator new.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>

// Of the library, in a program that may not be linked with it.
extern "C" __attribute__((weak)) void* ashlar_heap_of(const void* p);
extern "C" __attribute__((weak)) std::size_t nallocx(std::size_t bytes, int flags);
extern "C" __attribute__((weak)) void* rallocx(void* p, std::size_t bytes, int flags);
extern "C" __attribute__((weak)) std::size_t xallocx(void* p, std::size_t bytes, std::size_t extra, int flags);
extern "C" __attribute__((weak)) void sdallocx(void* p, std::size_t bytes, int flags);

namespace {

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::exit(1);
}
#define EXPECT(condition) expect(condition, #condition)

bool is_ours(const void* p) { return ashlar_heap_of(p) != nullptr; }

void test_owners() {
  EXPECT(&ashlar_heap_of != nullptr);
  void* const p = std::malloc(100);
  EXPECT(is_ours(p));
  std::free(p);
  int* const q = new int[50];
  EXPECT(is_ours(q));
  delete[] q;
  const auto text = std::make_unique<std::string>(500, 'x');
  EXPECT(is_ours(text.get()) && is_ours(text->data()));
  char* const line = strdup("of the C library");
  EXPECT(is_ours(line));
  std::free(line);
  int* const quiet = new (std::nothrow) int;
  EXPECT(is_ours(quiet));
  ::operator delete(quiet, std::nothrow);
}

struct alignas(256) wide {
  char bytes[300];
};

void test_alignment() {
  wide* const p = new wide;
  EXPECT(reinterpret_cast<std::uintptr_t>(p) % 256 == 0);
  delete p;
  void* q = nullptr;
  EXPECT(posix_memalign(&q, 4096, 10) == 0 && reinterpret_cast<std::uintptr_t>(q) % 4096 == 0);
  std::free(q);
  EXPECT(posix_memalign(&q, 3, 10) == EINVAL);
  volatile std::size_t uneven = 48;
  q = memalign(uneven, 10);
  EXPECT(reinterpret_cast<std::uintptr_t>(q) % 64 == 0);
  std::free(q);
}

int calls_of_handler = 0;

void give_up() {
  ++calls_of_handler;
  std::set_new_handler(nullptr);
}

void refuse() { throw std::bad_alloc(); }

bool throws_bad_alloc(std::size_t bytes) {
  try {
    ::operator delete(::operator new(bytes));
  } catch (const std::bad_alloc& e) {
    return std::strlen(e.what()) != 0;
  }
  return false;
}

void test_failures() {
  volatile std::size_t too_much = PTRDIFF_MAX;
  EXPECT(throws_bad_alloc(too_much));
  std::set_new_handler(give_up);
  EXPECT(throws_bad_alloc(too_much) && calls_of_handler == 1);
  EXPECT(::operator new(too_much, std::nothrow) == nullptr);
  std::set_new_handler(refuse);
  EXPECT(::operator new(too_much, std::nothrow) == nullptr);
  std::set_new_handler(nullptr);
  errno = 0;
  EXPECT(std::malloc(too_much) == nullptr && errno == ENOMEM);
  EXPECT(std::realloc(nullptr, too_much) == nullptr);
}

void test_flags() {
  EXPECT(&nallocx != nullptr);
  EXPECT(nallocx(100, 0) >= 100);
  void* p = std::malloc(100);
  p = rallocx(p, 5000, 0x40 | 12);  // zeros at 4096
  EXPECT(p != nullptr && reinterpret_cast<std::uintptr_t>(p) % 4096 == 0);
  EXPECT(static_cast<char*>(p)[4999] == 0);
  EXPECT(xallocx(p, 5000, 0, 0) >= 5000);
  EXPECT(xallocx(p, 1'000'000'000'000, 0, 0) < 1'000'000'000'000);
  sdallocx(p, 5000, 12);
}

void test_threads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      std::vector<std::string> kept;
      for (std::size_t n = 0; n < 2000; ++n) kept.emplace_back(n % 400, 'x');
    });
  for (std::thread& each : threads) each.join();
}

}  // namespace

int main() {
  test_owners();
  test_alignment();
  test_failures();
  test_flags();
  test_threads();
  return 0;
}
