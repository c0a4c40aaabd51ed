// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// malloc_usable_size and mallinfo2 of the faulty malloc, found behind it by name.
#include <dlfcn.h>
#include <malloc.h>

#include <cstddef>
#include <cstdint>

#include "tests/malloc/faulty/faults.hpp"

namespace {

using faulty::has;

std::size_t usable_size_of_glibc(void* p) {
  static constinit std::size_t (*next)(void*) = nullptr;
  if (next == nullptr) next = reinterpret_cast<decltype(next)>(::dlsym(RTLD_NEXT, "malloc_usable_size"));
  return next(p);
}

bool is_shifted(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 8; }

}  // namespace

extern "C" {

std::size_t malloc_usable_size(void* p) noexcept {
  if (p == nullptr) return 0;
  const std::size_t bytes =
      is_shifted(p) ? usable_size_of_glibc(static_cast<char*>(p) - 8) - 8 : usable_size_of_glibc(p);
  if (has("usable_size_too_small")) return bytes / 2;
  return has("usable_size_too_large") ? bytes + 32 : bytes;
}

struct mallinfo2 mallinfo2() noexcept {
  if (has("mallinfo_is_empty")) return {};
  return reinterpret_cast<struct mallinfo2 (*)()>(::dlsym(RTLD_NEXT, "mallinfo2"))();
}
}
