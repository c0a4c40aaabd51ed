// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// operator new and delete in all their forms.
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "tests/malloc/rule.hpp"
#include "tests/malloc/rules/concepts.hpp"

namespace malloc_rules {
namespace {

void is_aligned_and_distinct() {
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

void by_size() {
  for (const std::size_t n : many_sizes()) {
    ::operator delete(::operator new(n), n);
    ::operator delete[](::operator new[](n), n);
    ::operator delete(::operator new(n), std::nothrow);
    ::operator delete[](::operator new[](n, std::nothrow), std::nothrow);
    ::operator delete(::operator new(n, std::nothrow), n);
  }
}

void by_alignment() {
  for (std::size_t alignment = 1; alignment <= (std::size_t{64} << 20); alignment *= 2)
    for (const std::size_t n : {0u, 1u, 33u, 4096u, 70'000u}) {
      const std::align_val_t a{alignment};
      void* const all[] = {::operator new(n, a), ::operator new[](n, a), ::operator new(n, a, std::nothrow),
                           ::operator new[](n, a, std::nothrow)};
      for (void* p : all) {
        expect(p != nullptr && is_aligned(p, alignment), "new gave a block that is not aligned as asked", alignment);
        fill(p, n, alignment);
      }
      ::operator delete(all[0], n, a);
      ::operator delete[](all[1], n, a);
      expect(is_filled(all[2], n, alignment) && is_filled(all[3], n, alignment), "aligned blocks overlap", alignment);
      ::operator delete(all[2], a);
      ::operator delete[](all[3], a, std::nothrow);
    }
}

void of_null() {
  const std::align_val_t a{64};
  ::operator delete(nullptr);
  ::operator delete[](nullptr);
  ::operator delete(nullptr, std::size_t{8});
  ::operator delete[](nullptr, std::size_t{8});
  ::operator delete(nullptr, std::nothrow);
  ::operator delete[](nullptr, std::nothrow);
  ::operator delete(nullptr, a);
  ::operator delete[](nullptr, a);
  ::operator delete(nullptr, std::size_t{64}, a);
  ::operator delete[](nullptr, std::size_t{64}, a);
  ::operator delete(nullptr, a, std::nothrow);
  ::operator delete[](nullptr, a, std::nothrow);
}

template <class F>
void expect_bad_alloc(const char* what, F f) {
  bool is_caught = false;
  try {
    f();
  } catch (const std::bad_alloc& error) {
    is_caught = error.what() != nullptr;
  }
  expect(is_caught, what);
}

void throws_bad_alloc() {
  const std::size_t excess = hidden(std::size_t{PTRDIFF_MAX} + 1);
  const std::align_val_t a{64};
  for (int round = 0; round < 50; ++round) {
    expect_bad_alloc("new", [=] { ::operator delete(::operator new(excess)); });
    expect_bad_alloc("new[]", [=] { ::operator delete[](::operator new[](excess)); });
    expect_bad_alloc("aligned new", [=] { ::operator delete(::operator new(excess, a), a); });
    expect_bad_alloc("aligned new[]", [=] { ::operator delete[](::operator new[](excess, a), a); });
    expect_bad_alloc("new of SIZE_MAX", [] { ::operator delete(::operator new(hidden(SIZE_MAX))); });
  }
}

// The C++ library's own form rounds the size up to the alignment, and so to 0.
void of_size_max_aligned() {
  for (std::size_t alignment = 16; alignment <= 4096; alignment *= 2) {
    const std::align_val_t a{alignment};
    expect_bad_alloc("aligned new", [=] { ::operator delete(::operator new(hidden(SIZE_MAX), a), a); });
    expect_bad_alloc("aligned new[]", [=] { ::operator delete[](::operator new[](hidden(SIZE_MAX - 8), a), a); });
  }
}

void is_caught_as_exception() {
  bool is_caught = false;
  try {
    std::vector<char> bytes;
    bytes.resize(bytes.max_size());
  } catch (const std::exception& error) {
    is_caught = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  }
  expect(is_caught, "the exception is not the bad_alloc of this program");
}

void of_an_array_that_is_too_long() {
  expect_bad_alloc("new of an array", [] {
    auto* const array = new std::uint64_t[hidden(SIZE_MAX / 4)];
    array[hidden(0)] = 1;  // a new without a use may be left out
    delete[] array;
  });
}

void nothrow_is_null() {
  const std::size_t excess = hidden(std::size_t{PTRDIFF_MAX} + 1);
  const std::align_val_t a{64};
  expect(::operator new(excess, std::nothrow) == nullptr, "new");
  expect(::operator new[](excess, std::nothrow) == nullptr, "new[]");
  expect(::operator new(excess, a, std::nothrow) == nullptr, "aligned new");
  expect(::operator new[](excess, a, std::nothrow) == nullptr, "aligned new[]");
}

struct alignas(256) over_aligned {
  char bytes[300];
};

void of_objects() {
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

constexpr rule rules[] = {
    {"new.is_aligned_and_distinct", is_aligned_and_distinct},
    {"new.by_size", by_size},
    {"new.by_alignment", by_alignment},
    {"new.of_null", of_null},
    {"new.throws_bad_alloc", throws_bad_alloc},
    {"new.of_size_max_aligned", of_size_max_aligned},
    {"new.is_caught_as_exception", is_caught_as_exception},
    {"new.of_an_array_that_is_too_long", of_an_array_that_is_too_long},
    {"new.nothrow_is_null", nothrow_is_null},
    {"new.of_objects", of_objects},
};

}  // namespace

std::span<const rule> rules_of_new() { return rules; }

}  // namespace malloc_rules
