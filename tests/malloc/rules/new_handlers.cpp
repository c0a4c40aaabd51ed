// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// new_handler: called until there is memory, until it throws, or until it is gone.
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <thread>

#include "tests/malloc/rule.hpp"
#include "tests/malloc/rules/concepts.hpp"

namespace malloc_rules {
namespace {

constexpr std::align_val_t wide{256};
int calls;

std::size_t excess() { return hidden(std::size_t{PTRDIFF_MAX} + 1); }

void uninstall_at_third_call() {
  if (++calls % 3 == 0) std::set_new_handler(nullptr);
}

template <class F>
void expect_three_calls(const char* what, F allocate) {
  calls = 0;
  std::set_new_handler(uninstall_at_third_call);
  bool is_caught = false;
  try {
    allocate();
  } catch (const std::bad_alloc&) {
    is_caught = true;
  }
  expect(is_caught && calls == 3, what, static_cast<std::size_t>(calls));
}

void is_called_until_gone() {
  expect_three_calls("new", [] { ::operator delete(::operator new(excess())); });
  expect_three_calls("new[]", [] { ::operator delete[](::operator new[](excess())); });
  expect_three_calls("aligned new", [] { ::operator delete(::operator new(excess(), wide), wide); });
  expect_three_calls("aligned new[]", [] { ::operator delete[](::operator new[](excess(), wide), wide); });
}

void is_called_under_nothrow() {
  for (const bool is_wide : {false, true}) {
    calls = 0;
    std::set_new_handler(uninstall_at_third_call);
    void* const p = is_wide ? ::operator new(excess(), wide, std::nothrow) : ::operator new(excess(), std::nothrow);
    expect(p == nullptr && calls == 3, "new (nothrow) did not call the handler", static_cast<std::size_t>(calls));
  }
}

void throw_bad_alloc() {
  ++calls;
  throw std::bad_alloc{};
}

// The C++ library's nothrow forms catch what the handler throws; a malloc that replaces them must too.
void may_throw_under_nothrow() {
  std::set_new_handler(throw_bad_alloc);
  for (int i = 0; i < 20; ++i) {
    expect(::operator new(excess(), std::nothrow) == nullptr, "new (nothrow)");
    expect(::operator new[](excess(), std::nothrow) == nullptr, "new[] (nothrow)");
    expect(::operator new(excess(), wide, std::nothrow) == nullptr, "aligned new (nothrow)");
    expect(::operator new[](excess(), wide, std::nothrow) == nullptr, "aligned new[] (nothrow)");
  }
  expect(calls == 80, "the handler was not called", static_cast<std::size_t>(calls));
}

struct no_room : std::bad_alloc {};

void throw_own() { throw no_room{}; }

void may_throw_its_own() {
  std::set_new_handler(throw_own);
  int caught = 0;
  for (int i = 0; i < 20; ++i) {
    try {
      ::operator delete(::operator new(excess()));
    } catch (const no_room&) {
      ++caught;
    }
  }
  expect(caught == 20, "the handler's exception did not arrive", static_cast<std::size_t>(caught));
}

void allocate_in_handler() {
  void* const p = std::malloc(5000);
  fill(p, 5000, 1);
  std::free(p);
  if (++calls == 4) std::set_new_handler(nullptr);
}

void may_allocate() {
  std::set_new_handler(allocate_in_handler);
  expect(::operator new(excess(), std::nothrow) == nullptr&& calls == 4, "a handler that allocates");
}

void malloc_calls_none() {
  std::set_new_handler(throw_bad_alloc);
  expect(std::malloc(excess()) == nullptr && std::calloc(excess(), 2) == nullptr, "malloc");
  expect(::memalign(64, excess()) == nullptr && std::realloc(nullptr, excess()) == nullptr, "memalign or realloc");
  expect(calls == 0, "malloc called the new_handler");
}

void in_another_thread() {
  std::set_new_handler(throw_own);
  bool is_caught = false;
  std::thread{[&] {
    try {
      ::operator delete(::operator new(excess()));
    } catch (const no_room&) {
      is_caught = true;
    }
  }}.join();
  expect(is_caught, "the handler's exception did not arrive in a thread");
}

constexpr rule rules[] = {
    {"new_handlers.is_called_until_gone", is_called_until_gone},
    {"new_handlers.is_called_under_nothrow", is_called_under_nothrow},
    {"new_handlers.may_throw_under_nothrow", may_throw_under_nothrow},
    {"new_handlers.may_throw_its_own", may_throw_its_own},
    {"new_handlers.may_allocate", may_allocate},
    {"new_handlers.malloc_calls_none", malloc_calls_none},
    {"new_handlers.in_another_thread", in_another_thread},
};

}  // namespace

std::span<const rule> rules_of_new_handlers() { return rules; }

}  // namespace malloc_rules
