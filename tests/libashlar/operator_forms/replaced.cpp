// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operators new and delete that a program replaces, chosen by macros. Where it replaces both ends, a header stands
// in front of each block, by which a form that takes a block of another family ends the program.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

struct alignas(64) header {
  const char* family;
  const header* self;
};

long made, live;  // of these blocks with a header

void* make(const char* family, std::size_t bytes, bool has_header) {
  ++made;
  if (!has_header) return std::malloc(bytes != 0 ? bytes : 1);
  auto* const start = static_cast<header*>(std::aligned_alloc(64, (sizeof(header) + bytes + 63) / 64 * 64));
  if (start == nullptr) throw std::bad_alloc();
  *start = {family, start};
  ++live;
  return start + 1;
}

void unmake(const char* family, void* p, bool has_header) {
  if (p == nullptr) return;
  if (!has_header) return std::free(p);
  header* const start = static_cast<header*>(p) - 1;
  if (start->self != start || start->family[0] != family[0]) {
    std::fprintf(stderr, "a delete of family %s takes a block of another\n", family);
    std::_Exit(3);
  }
  start->self = nullptr;
  --live;
  std::free(start);
}

#if defined(NEW) && defined(DELETE)
constexpr bool both = true;
#else
constexpr bool both = false;
#endif

}  // namespace

#define FORM __attribute__((visibility("default")))

/// @{ Returns: blocks with a header that live, and all that were made.
extern "C" FORM long replaced_forms_live();
extern "C" FORM long replaced_forms_made();
/// @}
extern "C" long replaced_forms_live() { return live; }
extern "C" long replaced_forms_made() { return made; }

#if defined(NEW)
FORM void* operator new(std::size_t n) { return make("plain", n, both); }
#endif
#if defined(DELETE)
FORM void operator delete(void* p) noexcept { unmake("plain", p, both); }
#endif
#if defined(SIZED)
FORM void operator delete(void* p, std::size_t) noexcept { unmake("plain", p, both); }
FORM void operator delete[](void* p, std::size_t) noexcept { ::operator delete[](p); }
#endif
#if defined(NOTHROW)
FORM void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return make("plain", n, both); }
FORM void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return ::operator new[](n); }
FORM void operator delete(void* p, const std::nothrow_t&) noexcept { ::operator delete(p); }
FORM void operator delete[](void* p, const std::nothrow_t&) noexcept { ::operator delete[](p); }
#endif
#if defined(ARRAY)
FORM void* operator new[](std::size_t n) { return make("array", n, true); }
FORM void operator delete[](void* p) noexcept { unmake("array", p, true); }
#endif
#if defined(ALIGNED)
FORM void* operator new(std::size_t n, std::align_val_t) { return make("wide", n, true); }
FORM void operator delete(void* p, std::align_val_t) noexcept { unmake("wide", p, true); }
#endif
