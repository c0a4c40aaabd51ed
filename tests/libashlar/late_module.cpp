// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A module in C++, which brings the C++ library into a program in C.
#include <cstddef>
#include <cstring>
#include <new>

extern "C" __attribute__((visibility("default"))) bool catches_bad_alloc(std::size_t bytes);

namespace {

void refuse() { throw std::bad_alloc(); }

bool catches_what_handlers_throw(std::size_t bytes) {
  const std::new_handler before = std::set_new_handler(refuse);
  const bool is_caught = ::operator new(bytes, std::nothrow) == nullptr;
  std::set_new_handler(before);
  return is_caught;
}

}  // namespace

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
  return catches_what_handlers_throw(bytes);
}
