// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A module in C++, which brings the C++ library into a program in C.
#include <cstddef>
#include <cstring>
#include <new>

extern "C" __attribute__((visibility("default"))) bool catches_bad_alloc(std::size_t bytes);

extern "C" bool catches_bad_alloc(std::size_t bytes) {
  for (int i = 0; i < 3; ++i) {
    bool is_caught = false;
    try {
      ::operator delete(::operator new(bytes));
    } catch (const std::bad_alloc& e) {
      is_caught = std::strlen(e.what()) != 0;
    }
    if (!is_caught) return false;
  }
  return true;
}
