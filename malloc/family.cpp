// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// malloc and its family, by the rules of glibc: each name checks its arguments and asks for a block.
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <malloc.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/os/pages.hpp>

#include "malloc/blocks.hpp"
#include "malloc/call_stack.hpp"
#include "malloc/export.hpp"

namespace ashlar::drop_in {

namespace {

/// As `memalign` of glibc, which rounds alignments up to powers of two.
[[nodiscard]] ASHLAR_NOINLINE void* allocate_at(std::size_t alignment, std::size_t bytes) noexcept {
  if (alignment > most_alignment) return refuse(alignment > SIZE_MAX / 2 + 1 ? EINVAL : ENOMEM);
  return allocate(aligned(bytes, std::bit_ceil(alignment)));
}

}  // namespace

__attribute__((alias("malloc"))) void* allocate_by_malloc(std::size_t bytes) noexcept;
__attribute__((alias("free"))) void deallocate_by_free(void* p) noexcept;

}  // namespace ashlar::drop_in

namespace drop_in = ashlar::drop_in;

extern "C" {

ASHLAR_EXPORT void* malloc(std::size_t bytes) noexcept { return drop_in::allocate(bytes); }

ASHLAR_EXPORT void free(void* p) noexcept { drop_in::deallocate(p); }

ASHLAR_EXPORT void* calloc(std::size_t count, std::size_t each) noexcept {
  std::size_t bytes = 0;
  if (!ashlar::checked_mul(count, each, bytes)) return drop_in::refuse(ENOMEM);
  return drop_in::allocate_zeroed(bytes);
}

/// The first test is for programs whose every allocation comes here with null, as Lua's.
ASHLAR_EXPORT void* realloc(void* p, std::size_t bytes) noexcept {
  if (p == nullptr) return drop_in::allocate_by_malloc(bytes);
  return drop_in::reallocate(p, bytes, drop_in::granule);
}

/// A name that programs of before glibc 2.26 call.
ASHLAR_EXPORT_AS("free") void cfree(void* p) noexcept;

ASHLAR_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return drop_in::allocate_at(alignment, bytes);
}

ASHLAR_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return drop_in::allocate_at(alignment, bytes);
}

/// POSIX has the error as the result, and errno as it was.
ASHLAR_EXPORT int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  if (!ashlar::is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int before = errno;
  const drop_in::caller_scope within(ASHLAR_OWN_FRAME());
  void* const p = drop_in::allocate_at(alignment, bytes);
  errno = before;
  if (p == nullptr) return ENOMEM;
  *out = p;
  return 0;
}

ASHLAR_EXPORT void* valloc(std::size_t bytes) noexcept {
  return drop_in::allocate_at(ashlar::os::pages::page_bytes(), bytes);
}

ASHLAR_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  const std::size_t whole = ashlar::os::pages::round_up(bytes);  // 0 if it overflows
  return whole != 0 ? valloc(whole) : drop_in::refuse(ENOMEM);
}

ASHLAR_EXPORT std::size_t malloc_usable_size(void* p) noexcept { return drop_in::usable_size(p); }

// Functions of ashlar_malloc.h that are the same.
ASHLAR_EXPORT_AS("malloc") void* ashlar_malloc(std::size_t bytes);
ASHLAR_EXPORT_AS("free") void ashlar_free(void* p);

// The names by which glibc itself exports the family.
ASHLAR_EXPORT_AS("malloc") void* __libc_malloc(std::size_t bytes) noexcept;
ASHLAR_EXPORT_AS("calloc") void* __libc_calloc(std::size_t count, std::size_t each) noexcept;
ASHLAR_EXPORT_AS("realloc") void* __libc_realloc(void* p, std::size_t bytes) noexcept;
ASHLAR_EXPORT_AS("free") void __libc_free(void* p) noexcept;
ASHLAR_EXPORT_AS("free") void __libc_cfree(void* p) noexcept;
ASHLAR_EXPORT_AS("posix_memalign") int __posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept;
ASHLAR_EXPORT_AS("memalign") void* __libc_memalign(std::size_t alignment, std::size_t bytes) noexcept;
ASHLAR_EXPORT_AS("valloc") void* __libc_valloc(std::size_t bytes) noexcept;
ASHLAR_EXPORT_AS("pvalloc") void* __libc_pvalloc(std::size_t bytes) noexcept;

}  // extern "C"
