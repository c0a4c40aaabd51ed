// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names by which other mallocs also make and take the blocks of malloc, for programs that are linked with one: each
// calls the name of the C library. tests/libashlar/other_mallocs/family.txt has all names.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include <malloc.h>

#include <ashlar/base/bits.hpp>

#include "malloc/export.hpp"

extern "C" {

/// As two registers return it.
struct sized_block {
  void* p;
  std::size_t bytes;
};
using hint = std::uint8_t;  // of 0 to 255

std::size_t nallocx(std::size_t bytes, int flags) noexcept;

// The C library's, which has it by the realloc of the program.
ASHLAR_EXPORT void* reallocarray(void* p, std::size_t count, std::size_t each) noexcept {
  std::size_t bytes = 0;
  if (ashlar::checked_mul(count, each, bytes)) return ::realloc(p, bytes);
  errno = ENOMEM;
  return nullptr;
}

// jemalloc.
ASHLAR_EXPORT void dallocx(void* p, int) noexcept { ::free(p); }
ASHLAR_EXPORT std::size_t sallocx(const void* p, int) noexcept { return ::malloc_usable_size(const_cast<void*>(p)); }

// tcmalloc and mimalloc, by the names of BSD and macOS: of a program with functions of such names, its own count.
ASHLAR_EXPORT_REPLACED std::size_t malloc_size(const void* p) noexcept {
  return ::malloc_usable_size(const_cast<void*>(p));
}
ASHLAR_EXPORT_REPLACED std::size_t malloc_good_size(std::size_t bytes) noexcept { return nallocx(bytes, 0); }
ASHLAR_EXPORT_REPLACED void vfree(void* p) noexcept { ::free(p); }
ASHLAR_EXPORT_REPLACED void* _aligned_malloc(std::size_t alignment, std::size_t bytes) noexcept {
  return ::aligned_alloc(alignment, bytes);
}

/// As `realloc`, and frees the block where that fails.
ASHLAR_EXPORT_REPLACED void* reallocf(void* p, std::size_t bytes) noexcept {
  void* const moved = ::realloc(p, bytes);
  if (moved == nullptr && bytes != 0) ::free(p);
  return moved;
}

/// As `reallocarray` of the pointer at `place`, which changes. Returns: 0, or the error, with errno as it was.
ASHLAR_EXPORT_REPLACED int reallocarr(void* place, std::size_t count, std::size_t each) noexcept {
  const int before = errno;
  void* p = nullptr;
  std::memcpy(&p, place, sizeof p);
  p = ::reallocarray(p, count, each);
  if (p == nullptr && count != 0 && each != 0) {
    errno = before;
    return ENOMEM;
  }
  std::memcpy(place, &p, sizeof p);
  return 0;
}

ASHLAR_EXPORT std::size_t MallocExtension_GetAllocatedSize(const void* p) noexcept { return malloc_size(p); }
ASHLAR_EXPORT std::size_t MallocExtension_GetEstimatedAllocatedSize(std::size_t bytes) noexcept {
  return malloc_good_size(bytes);
}

// The forms of operator new that Google's tcmalloc adds: with a hint of how often a block is used, and with its size.
#define ASHLAR_FORM(result, name, parameters, block, ...) \
  ASHLAR_EXPORT result name parameters __VA_ARGS__ { return block; }
using nothrow = const std::nothrow_t&;
ASHLAR_FORM(void*, _Znwm12__hot_cold_t, (std::size_t n, hint), ::operator new(n))
ASHLAR_FORM(void*, _Znam12__hot_cold_t, (std::size_t n, hint), ::operator new[](n))
ASHLAR_FORM(void*, _ZnwmRKSt9nothrow_t12__hot_cold_t, (std::size_t n, nothrow t, hint), ::operator new(n, t), noexcept)
ASHLAR_FORM(void*, _ZnamRKSt9nothrow_t12__hot_cold_t, (std::size_t n, nothrow t, hint), ::operator new[](n, t),
            noexcept)
ASHLAR_FORM(void*, _ZnwmSt11align_val_t12__hot_cold_t, (std::size_t n, std::align_val_t a, hint), ::operator new(n, a))
ASHLAR_FORM(void*, _ZnamSt11align_val_t12__hot_cold_t, (std::size_t n, std::align_val_t a, hint),
            ::operator new[](n, a))
ASHLAR_FORM(void*, _ZnwmSt11align_val_tRKSt9nothrow_t12__hot_cold_t,
            (std::size_t n, std::align_val_t a, nothrow t, hint), ::operator new(n, a, t), noexcept)
ASHLAR_FORM(void*, _ZnamSt11align_val_tRKSt9nothrow_t12__hot_cold_t,
            (std::size_t n, std::align_val_t a, nothrow t, hint), ::operator new[](n, a, t), noexcept)
ASHLAR_FORM(sized_block, __size_returning_new, (std::size_t n), (sized_block{::operator new(n), n}))
ASHLAR_FORM(sized_block, __size_returning_new_hot_cold, (std::size_t n, hint), (sized_block{::operator new(n), n}))
ASHLAR_FORM(sized_block, __size_returning_new_aligned, (std::size_t n, std::align_val_t a),
            (sized_block{::operator new(n, a), n}))
ASHLAR_FORM(sized_block, __size_returning_new_aligned_hot_cold, (std::size_t n, std::align_val_t a, hint),
            (sized_block{::operator new(n, a), n}))

}  // extern "C"
