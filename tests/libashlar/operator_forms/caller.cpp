// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that calls each operator new with each operator delete that the standard pairs with it.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <new>
#include <string>
#include <vector>

#include "tests/support/operator_forms.hpp"

extern "C" long replaced_forms_live();
extern "C" long replaced_forms_made();
extern "C" __attribute__((visibility("default"))) int call_operator_forms();

namespace {

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
    ashlar_test::for_each_pair_of_forms([n](const auto& made_by, const auto& ended_by) {
      constexpr std::align_val_t wide{64};
      void* const p = made_by.make(n, wide);
      if (p == nullptr) std::abort();
      ended_by.unmake(std::memset(p, 7, n), n, wide);
    });
    call_by_library(n);
  }
  std::printf("made %ld\n", replaced_forms_made());
  return replaced_forms_live() != 0 ? 4 : 0;
}

int main() { return call_operator_forms(); }
