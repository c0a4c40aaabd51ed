// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that calls each operator new with each operator delete that the standard pairs with it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <list>
#include <memory>
#include <new>
#include <string>
#include <vector>

extern "C" long replaced_forms_live();
extern "C" long replaced_forms_made();
extern "C" __attribute__((visibility("default"))) int call_operator_forms();

namespace {

constexpr std::align_val_t wide{64};

[[nodiscard]] void* filled(void* p, std::size_t n) {
  if (p == nullptr) std::abort();
  return std::memset(p, 7, n);
}

void call_plain(std::size_t n) {
  ::operator delete(filled(::operator new(n), n));
  ::operator delete(filled(::operator new(n), n), n);
  ::operator delete(filled(::operator new(n), n), std::nothrow);
  ::operator delete(filled(::operator new(n, std::nothrow), n));
  ::operator delete(filled(::operator new(n, std::nothrow), n), n);
  ::operator delete(filled(::operator new(n, std::nothrow), n), std::nothrow);
}

void call_array(std::size_t n) {
  ::operator delete[](filled(::operator new[](n), n));
  ::operator delete[](filled(::operator new[](n), n), n);
  ::operator delete[](filled(::operator new[](n), n), std::nothrow);
  ::operator delete[](filled(::operator new[](n, std::nothrow), n));
  ::operator delete[](filled(::operator new[](n, std::nothrow), n), n);
  ::operator delete[](filled(::operator new[](n, std::nothrow), n), std::nothrow);
}

void call_aligned(std::size_t n) {
  ::operator delete(filled(::operator new(n, wide), n), wide);
  ::operator delete(filled(::operator new(n, wide), n), n, wide);
  ::operator delete(filled(::operator new(n, wide), n), wide, std::nothrow);
  ::operator delete(filled(::operator new(n, wide, std::nothrow), n), wide);
  ::operator delete[](filled(::operator new[](n, wide), n), wide);
  ::operator delete[](filled(::operator new[](n, wide), n), n, wide);
  ::operator delete[](filled(::operator new[](n, wide), n), wide, std::nothrow);
  ::operator delete[](filled(::operator new[](n, wide, std::nothrow), n), wide);
}

// The library's own code calls the forms too, compiled into it and into the program.
void call_by_library(std::size_t n) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i != n % 50; ++i) texts.emplace_back(i * 3, static_cast<char>('a' + i % 20));
  std::stable_sort(texts.begin(), texts.end());  // its buffer comes by the nothrow form
  std::list<int> numbers(n % 20, 3);
  numbers.sort();
  std::string text;
  for (std::size_t i = 0; i != n; ++i) text.push_back('x');
}

}  // namespace

int call_operator_forms() {
  for (std::size_t n = 1; n != 300; ++n) {
    call_plain(n);
    call_array(n);
    call_aligned(n);
    call_by_library(n);
  }
  std::printf("made %ld\n", replaced_forms_made());
  return replaced_forms_live() != 0 ? 4 : 0;
}
