// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// operator new and delete in all their forms, and the new_handler.
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tests/malloc/rule.hpp"
#include "tests/support/operator_forms.hpp"

namespace malloc_rules {
namespace {

using ashlar_test::delete_form;
using ashlar_test::delete_forms;
using ashlar_test::for_each_pair_of_forms;
using ashlar_test::new_form;
using ashlar_test::new_forms;

constexpr std::align_val_t wide{256};

std::size_t excess() { return hidden(std::size_t{PTRDIFF_MAX} + 1); }

// ---- operator new and delete.
RULE(new, is_aligned_and_distinct) {
  for (const std::size_t n : many_sizes()) {
    void* const two[] = {::operator new(n), ::operator new[](n)};
    expect(two[0] != nullptr && two[1] != nullptr && two[0] != two[1], "new gave no block of its own", n);
    for (void* p : two) {
      expect(is_aligned(p, __STDCPP_DEFAULT_NEW_ALIGNMENT__), "new gave a block that is not aligned", n);
      fill(p, n, n);
    }
    ::operator delete(two[0]);
    expect(is_filled(two[1], n, n), "two blocks of new overlap", n);
    ::operator delete[](two[1]);
  }
}

RULE(new, by_size) {
  for (const std::size_t n : many_sizes())
    for_each_pair_of_forms([n](const new_form& made_by, const delete_form& ended_by) {
      if (!made_by.is_aligned) ended_by.unmake(made_by.make(n, wide), n, wide);
    });
}

RULE(new, by_alignment) {
  for (std::size_t alignment = 1; alignment <= (std::size_t{64} << 20); alignment *= 2)
    for (const std::size_t n : {0u, 1u, 33u, 4096u, 70'000u})
      for_each_pair_of_forms(
          [=, a = std::align_val_t{alignment}](const new_form& made_by, const delete_form& ended_by) {
            if (!made_by.is_aligned) return;
            void* const two[] = {made_by.make(n, a), made_by.make(n, a)};
            for (std::size_t i = 0; i < 2; ++i) {
              expect(two[i] != nullptr && is_aligned(two[i], alignment), made_by.name, alignment);
              fill(two[i], n, i);
            }
            ended_by.unmake(two[1], n, a);
            expect(is_filled(two[0], n, 0), "aligned blocks overlap", alignment);
            ended_by.unmake(two[0], n, a);
          });
}

RULE(new, of_null) {
  for (const delete_form& each : delete_forms) each.unmake(nullptr, 256, wide);
}

template <class F>
void expect_bad_alloc(const char* what, F f) {
  bool is_caught = false;
  try {
    f();
  } catch (const std::bad_alloc& error) {
    is_caught = *error.what() != '\0';
  }
  expect(is_caught, what);
}

// The C++ library's own aligned form rounds the size up to the alignment, and so to 0.
RULE(new, throws_bad_alloc) {
  for (int round = 0; round < 50; ++round)
    for (const new_form& each : new_forms)
      for (std::size_t alignment = 16; !each.is_nothrow && alignment <= 4096; alignment *= 2)
        for (const std::size_t n : {excess(), hidden(SIZE_MAX), hidden(SIZE_MAX - 8)})
          expect_bad_alloc(each.name, [&] { return each.make(n, std::align_val_t{alignment}); });
}

RULE(new, is_caught_as_exception) {
  bool is_caught = false;
  try {
    std::vector<char> bytes;
    bytes.resize(bytes.max_size());
  } catch (const std::exception& error) {
    is_caught = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  }
  expect(is_caught, "the exception is not the bad_alloc of this program");
}

RULE(new, of_an_array_that_is_too_long) {
  expect_bad_alloc("new of an array", [] {
    auto* const array = new std::uint64_t[hidden(SIZE_MAX / 4)];
    array[hidden(0)] = 1;  // a new without a use may be left out
    delete[] array;
  });
}

RULE(new, nothrow_is_null) {
  for (const new_form& each : new_forms) expect(!each.is_nothrow || each.make(excess(), wide) == nullptr, each.name);
}

struct alignas(256) over_aligned {
  char bytes[300];
};

RULE(new, of_objects) {
  std::map<int, std::string> names;
  std::vector<std::unique_ptr<over_aligned>> objects;
  for (int i = 0; i < 2000; ++i) {
    names[i * 7919 % 2003] = std::string(static_cast<std::size_t>(i % 300), 'x');
    objects.push_back(std::make_unique<over_aligned>());
    expect(is_aligned(objects.back().get(), 256), "an object is not aligned");
    if (i % 3 == 0) objects.erase(objects.begin() + i % static_cast<int>(objects.size()));
  }
  std::pmr::vector<int> numbers{{1, 2, 3}, std::pmr::new_delete_resource()};
  numbers.resize(100'000);
  expect(numbers[2] == 3, "a vector lost a number");
}

// ---- new_handler: called until there is memory, until it throws, or until it is gone.
int calls;

void uninstall_at_third_call() {
  if (++calls % 3 == 0) std::set_new_handler(nullptr);
}

/// Effects: calls `use(form)` for the forms that throw, or for the others, with the handler installed for each.
template <class F>
void with_handler(std::new_handler handler, bool is_nothrow, F use) {
  for (const new_form& each : new_forms) {
    if (each.is_nothrow != is_nothrow) continue;
    calls = 0;
    std::set_new_handler(handler);
    use(each);
  }
}

RULE(new_handlers, is_called_until_gone) {
  with_handler(uninstall_at_third_call, false, [](const new_form& form) {
    expect_bad_alloc(form.name, [&] { return form.make(excess(), wide); });
    expect(calls == 3, form.name, static_cast<std::size_t>(calls));
  });
}

RULE(new_handlers, is_called_under_nothrow) {
  with_handler(uninstall_at_third_call, true, [](const new_form& form) {
    expect(form.make(excess(), wide) == nullptr && calls == 3, form.name, static_cast<std::size_t>(calls));
  });
}

void throw_bad_alloc() {
  ++calls;
  throw std::bad_alloc{};
}

// The C++ library's nothrow forms catch what the handler throws; a malloc that replaces them must too.
RULE(new_handlers, may_throw_under_nothrow) {
  with_handler(throw_bad_alloc, true, [](const new_form& form) {
    for (int i = 0; i < 20; ++i) expect(form.make(excess(), wide) == nullptr, form.name);
    expect(calls == 20, form.name, static_cast<std::size_t>(calls));
  });
}

struct no_room : std::bad_alloc {};

void throw_own() { throw no_room{}; }

/// Returns: how many of twenty news end by the handler's own exception.
int own_exceptions() {
  int caught = 0;
  for (int i = 0; i < 20; ++i) {
    try {
      ::operator delete(::operator new(excess()));
    } catch (const no_room&) {
      ++caught;
    }
  }
  return caught;
}

RULE(new_handlers, may_throw_its_own) {
  std::set_new_handler(throw_own);
  expect(own_exceptions() == 20, "the handler's exception did not arrive");
  std::thread{[] { expect(own_exceptions() == 20, "the handler's exception did not arrive in a thread"); }}.join();
}

void allocate_in_handler() {
  void* const p = std::malloc(5000);
  fill(p, 5000, 1);
  std::free(p);
  if (++calls == 4) std::set_new_handler(nullptr);
}

RULE(new_handlers, may_allocate) {
  std::set_new_handler(allocate_in_handler);
  expect(::operator new(excess(), std::nothrow) == nullptr&& calls == 4, "a handler that allocates");
}

RULE(new_handlers, malloc_calls_none) {
  std::set_new_handler(throw_bad_alloc);
  expect(std::malloc(excess()) == nullptr && std::calloc(excess(), 2) == nullptr, "malloc");
  expect(::memalign(64, excess()) == nullptr && std::realloc(nullptr, excess()) == nullptr, "memalign or realloc");
  expect(calls == 0, "malloc called the new_handler");
}

}  // namespace

}  // namespace malloc_rules
