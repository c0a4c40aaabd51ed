// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The hooks behind no_heap_scope: compiled into a program, they stand in front of the C library's malloc and its kin.
//
// The program's own definitions come first in the search order of the dynamic linker, so that its libraries use them as
// well. Each looks whether a scope is open in its thread, and hands on to glibc. Where a sanitizer stands in front
// already, it is asked to tell instead. The program gets this file as a source, and so with its own flags.
#include <ashlar/os/no_heap_scope.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ASHLAR_SANITIZER_HAS_HEAP 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASHLAR_SANITIZER_HAS_HEAP 1
#endif

namespace {

// Never allocated by the loader on first use: that would call malloc.
__attribute__((tls_model("initial-exec"))) constinit thread_local ashlar::detail::heap_watch* watch = nullptr;

ASHLAR_INLINE void note(const char* function, std::size_t bytes, const void* caller) noexcept {
  ashlar::detail::heap_watch* const watching = watch;
  if (ASHLAR_UNLIKELY(watching != nullptr)) watching->on_use(*watching, {function, bytes, caller});
}

}  // namespace

ashlar::detail::heap_watch** ashlar::detail::ashlar_heap_watch_1() noexcept { return &watch; }

#if defined(ASHLAR_SANITIZER_HAS_HEAP)

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, std::size_t),
                                                         void (*on_free)(const volatile void*));

__attribute__((constructor)) static void install_hooks() {
  __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, std::size_t bytes) { note("malloc or new", bytes, nullptr); },
      [](const volatile void*) {});
}

#elif defined(__GLIBC__)

#include <malloc.h>

#define ASHLAR_CALLER __builtin_return_address(0)

namespace {

std::size_t product_or_max(std::size_t count, std::size_t bytes) noexcept {
  std::size_t product = 0;
  return ashlar::checked_mul(count, bytes, product) ? product : ashlar::max_size;
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t bytes) noexcept;
void* __libc_calloc(std::size_t count, std::size_t bytes) noexcept;
void* __libc_realloc(void* p, std::size_t bytes) noexcept;
void __libc_free(void* p) noexcept;
void* __libc_memalign(std::size_t alignment, std::size_t bytes) noexcept;
void* __libc_valloc(std::size_t bytes) noexcept;
void* __libc_pvalloc(std::size_t bytes) noexcept;

#define ASHLAR_HOOK(name, parameters, bytes, block) \
  void* name parameters noexcept {                  \
    note(#name, bytes, ASHLAR_CALLER);              \
    return block;                                   \
  }
ASHLAR_HOOK(malloc, (std::size_t bytes), bytes, __libc_malloc(bytes))
ASHLAR_HOOK(calloc, (std::size_t count, std::size_t bytes), product_or_max(count, bytes), __libc_calloc(count, bytes))
ASHLAR_HOOK(realloc, (void* p, std::size_t bytes), bytes, __libc_realloc(p, bytes))
// Of a product that wraps there is no block, and errno is ENOMEM.
ASHLAR_HOOK(reallocarray, (void* p, std::size_t count, std::size_t bytes), product_or_max(count, bytes),
            __libc_realloc(p, product_or_max(count, bytes)))
ASHLAR_HOOK(aligned_alloc, (std::size_t alignment, std::size_t bytes), bytes, __libc_memalign(alignment, bytes))
ASHLAR_HOOK(memalign, (std::size_t alignment, std::size_t bytes), bytes, __libc_memalign(alignment, bytes))
ASHLAR_HOOK(valloc, (std::size_t bytes), bytes, __libc_valloc(bytes))
ASHLAR_HOOK(pvalloc, (std::size_t bytes), bytes, __libc_pvalloc(bytes))

int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  note("posix_memalign", bytes, ASHLAR_CALLER);
  if (!ashlar::is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int before = errno;
  void* const p = __libc_memalign(alignment, bytes);
  errno = before;
  if (p == nullptr) return ENOMEM;
  *out = p;
  return 0;
}

// Not reported, but another malloc that is preloaded must not get what is glibc's.
void free(void* p) noexcept { __libc_free(p); }
}

namespace {

// Returns: a block, or null where there is none and no new_handler to make room.
void* ask(std::size_t bytes, std::size_t alignment) {
  for (;;) {
    void* const p = alignment > alignof(std::max_align_t) ? __libc_memalign(alignment, bytes == 0 ? 1 : bytes)
                                                          : __libc_malloc(bytes);
    if (ASHLAR_LIKELY(p != nullptr)) return p;
    const std::new_handler make_room = std::get_new_handler();
    if (make_room == nullptr) return nullptr;
    make_room();
  }
}

ASHLAR_INLINE void* make(const char* function, std::size_t bytes, std::size_t alignment, const void* caller) {
  note(function, bytes, caller);
  void* const p = ask(bytes, alignment);
  if (ASHLAR_UNLIKELY(p == nullptr)) ashlar::throw_bad_alloc(bytes, alignment);
  return p;
}

ASHLAR_INLINE void* try_make(const char* function, std::size_t bytes, std::size_t alignment,
                             const void* caller) noexcept {
  note(function, bytes, caller);
  ASHLAR_TRY { return ask(bytes, alignment); }
  ASHLAR_CATCH_ALL { return nullptr; }
}

constexpr std::size_t value_of(std::align_val_t alignment) noexcept { return static_cast<std::size_t>(alignment); }

}  // namespace

// Weak: a program that replaces them itself keeps its own, whose mallocs are reported. The forms that it does not
// replace ask those that it does, as the standard has it, so that both ends of a block are of one kind.
#define ASHLAR_WEAK __attribute__((weak))
#define ASHLAR_WEAK_NAME_OF(target) __attribute__((weak, alias(target)))

// Second names, by which it is known whether the first still mean these.
extern "C" {
__attribute__((visibility("hidden"))) void* ashlar_hooked_new(std::size_t n);
__attribute__((visibility("hidden"))) void* ashlar_hooked_new_array(std::size_t n);
__attribute__((visibility("hidden"))) void* ashlar_hooked_aligned_new(std::size_t n, std::align_val_t a);
__attribute__((visibility("hidden"))) void* ashlar_hooked_aligned_new_array(std::size_t n, std::align_val_t a);
}

namespace {

using plain_new = void*(std::size_t);
using aligned_new = void*(std::size_t, std::align_val_t);

// Returns: whether the program has its own of this form.
template <class Form>
bool is_replaced(Form* now, Form* hooked) noexcept {
  return now != hooked;
}
bool has_own_new() noexcept { return is_replaced<plain_new>(&::operator new, &ashlar_hooked_new); }
bool has_own_array() noexcept { return is_replaced<plain_new>(&::operator new[], &ashlar_hooked_new_array); }
bool has_own_aligned() noexcept { return is_replaced<aligned_new>(&::operator new, &ashlar_hooked_aligned_new); }
bool has_own_aligned_array() noexcept {
  return is_replaced<aligned_new>(&::operator new[], &ashlar_hooked_aligned_new_array);
}

template <class F>
void* or_null(const F& own) noexcept {
  ASHLAR_TRY { return own(); }
  ASHLAR_CATCH_ALL { return nullptr; }
}

}  // namespace

extern "C" {
void* ashlar_hooked_new(std::size_t n) { return make("operator new", n, 0, ASHLAR_CALLER); }
void* ashlar_hooked_new_array(std::size_t n) {
  return has_own_new() ? ::operator new(n) : make("operator new[]", n, 0, ASHLAR_CALLER);
}
void* ashlar_hooked_aligned_new(std::size_t n, std::align_val_t a) {
  return make("operator new", n, value_of(a), ASHLAR_CALLER);
}
void* ashlar_hooked_aligned_new_array(std::size_t n, std::align_val_t a) {
  return has_own_aligned() ? ::operator new(n, a) : make("operator new[]", n, value_of(a), ASHLAR_CALLER);
}
}

void* operator new(std::size_t n) ASHLAR_WEAK_NAME_OF("ashlar_hooked_new");
void* operator new[](std::size_t n) ASHLAR_WEAK_NAME_OF("ashlar_hooked_new_array");
void* operator new(std::size_t n, std::align_val_t a) ASHLAR_WEAK_NAME_OF("ashlar_hooked_aligned_new");
void* operator new[](std::size_t n, std::align_val_t a) ASHLAR_WEAK_NAME_OF("ashlar_hooked_aligned_new_array");

ASHLAR_WEAK void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  if (has_own_new()) return or_null([&] { return ::operator new(n); });
  return try_make("operator new", n, 0, ASHLAR_CALLER);
}
ASHLAR_WEAK void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  if (has_own_array() || has_own_new()) return or_null([&] { return ::operator new[](n); });
  return try_make("operator new[]", n, 0, ASHLAR_CALLER);
}
ASHLAR_WEAK void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  if (has_own_aligned()) return or_null([&] { return ::operator new(n, a); });
  return try_make("operator new", n, value_of(a), ASHLAR_CALLER);
}
ASHLAR_WEAK void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  if (has_own_aligned_array() || has_own_aligned()) return or_null([&] { return ::operator new[](n, a); });
  return try_make("operator new[]", n, value_of(a), ASHLAR_CALLER);
}

ASHLAR_WEAK void operator delete(void* p) noexcept { __libc_free(p); }
ASHLAR_WEAK void operator delete(void* p, std::align_val_t) noexcept { __libc_free(p); }
ASHLAR_WEAK void operator delete(void* p, std::size_t) noexcept { ::operator delete(p); }
ASHLAR_WEAK void operator delete(void* p, std::size_t, std::align_val_t a) noexcept { ::operator delete(p, a); }
ASHLAR_WEAK void operator delete(void* p, const std::nothrow_t&) noexcept { ::operator delete(p); }
ASHLAR_WEAK void operator delete(void* p, std::align_val_t a, const std::nothrow_t&) noexcept {
  ::operator delete(p, a);
}
ASHLAR_WEAK void operator delete[](void* p) noexcept { ::operator delete(p); }
ASHLAR_WEAK void operator delete[](void* p, std::align_val_t a) noexcept { ::operator delete(p, a); }
ASHLAR_WEAK void operator delete[](void* p, std::size_t) noexcept { ::operator delete[](p); }
ASHLAR_WEAK void operator delete[](void* p, std::size_t, std::align_val_t a) noexcept { ::operator delete[](p, a); }
ASHLAR_WEAK void operator delete[](void* p, const std::nothrow_t&) noexcept { ::operator delete[](p); }
ASHLAR_WEAK void operator delete[](void* p, std::align_val_t a, const std::nothrow_t&) noexcept {
  ::operator delete[](p, a);
}

#else
#error "no_heap_hooks stands in front of glibc's malloc, or a sanitizer's; here is neither"
#endif
