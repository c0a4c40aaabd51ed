// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// operator new of the faulty malloc; the array forms of the C++ library call these.
#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <new>

#include "tests/malloc/faulty/faults.hpp"

namespace {

using faulty::has;

void* obtain(std::size_t bytes, std::size_t alignment) {
  for (;;) {
    void* const p = alignment <= 16 || has("new_ignores_alignment") ? std::malloc(bytes) : ::memalign(alignment, bytes);
    if (p != nullptr) return p;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr || has("new_ignores_handler")) return nullptr;
    handler();
  }
}

void* obtain_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const p = obtain(bytes, alignment);
  if (p == nullptr && !has("new_gives_null")) throw std::bad_alloc{};
  return p;
}

void* obtain_or_terminate(std::size_t bytes, std::size_t alignment) noexcept { return obtain(bytes, alignment); }

void* obtain_or_null(std::size_t bytes, std::size_t alignment) noexcept {
  if (has("nothrow_new_terminates")) return obtain_or_terminate(bytes, alignment);
  try {
    return obtain(bytes, alignment);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

void* operator new(std::size_t n) { return obtain_or_throw(n, 0); }
void* operator new(std::size_t n, std::align_val_t a) { return obtain_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return obtain_or_null(n, 0); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return obtain_or_null(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
