// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weak references to the C++ library: a C program has none, and must not need one.
#include "malloc/operator_forms.hpp"

#include <cstddef>
#include <new>

#include <dlfcn.h>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>

#include "malloc/opened_modules.hpp"

// The names of the C++ ABI for Itanium, which libstdc++ and libc++abi both define.
extern "C" {
__attribute__((weak)) void* __cxa_allocate_exception(std::size_t bytes) noexcept;
[[noreturn]] __attribute__((weak)) void __cxa_throw(void* exception, void* type, void (*destructor)(void*));
extern __attribute__((weak)) char ashlar_bad_alloc_type[] __asm__("_ZTISt9bad_alloc");
extern __attribute__((weak)) char ashlar_bad_alloc_table[] __asm__("_ZTVSt9bad_alloc");
__attribute__((weak)) void ashlar_bad_alloc_end(void* exception) noexcept __asm__("_ZNSt9bad_allocD1Ev");
__attribute__((weak)) std::new_handler ashlar_get_new_handler() noexcept __asm__("_ZSt15get_new_handlerv");
}

namespace ashlar::drop_in {

namespace {

struct cxx_library {
  decltype(&__cxa_allocate_exception) allocate = &__cxa_allocate_exception;
  void (*throw_it)(void*, void*, void (*)(void*)) = &__cxa_throw;
  void* type = ashlar_bad_alloc_type;
  char* table = ashlar_bad_alloc_table;
  void (*end)(void*) = &ashlar_bad_alloc_end;
  decltype(&ashlar_get_new_handler) get_new_handler = &ashlar_get_new_handler;

  [[nodiscard]] bool can_throw() const noexcept {
    return allocate != nullptr && throw_it != nullptr && type != nullptr && table != nullptr;
  }
};

template <class Pointer>
void find(void* library, const char* name, Pointer& found) noexcept {
  found = reinterpret_cast<Pointer>(::dlsym(library, name));
}

void find_in(void* library, cxx_library& found) noexcept {
  find(library, "__cxa_allocate_exception", found.allocate);
  find(library, "__cxa_throw", found.throw_it);
  find(library, "_ZTISt9bad_alloc", found.type);
  find(library, "_ZTVSt9bad_alloc", found.table);
  find(library, "_ZNSt9bad_allocD1Ev", found.end);
  find(library, "_ZSt15get_new_handlerv", found.get_new_handler);
}

// One reference stays, since an exception of the library may be under way while the program closes it.
constinit detail::atomic<void*> kept_library = nullptr;

// A program in C may have opened a library in C++ since its weak references were resolved, or a module that has such a
// library in it.
void find_late(cxx_library& found) noexcept {
  void* const library = open_module_that([&](void* module) noexcept {
    find_in(module, found);
    return found.can_throw();
  });
  void* none = nullptr;
  if (library != nullptr &&
      !kept_library.compare_exchange_strong(none, library, detail::memory_order_relaxed, detail::memory_order_relaxed))
    ::dlclose(library);
}

[[nodiscard]] cxx_library library_of_program() noexcept {
  cxx_library found;
  if (!found.can_throw()) find_late(found);
  return found;
}

}  // namespace

// First in the libraries, by their names: a module may have forms of its own in front of theirs.
ASHLAR_COLD void* find_in_late_library(const char* name) noexcept {
  if (&::dlopen == nullptr || &::dlsym == nullptr || &::dlclose == nullptr) return nullptr;
  for (const char* each : {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"}) {
    void* const library = ::dlopen(each, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    if (void* const found = ::dlsym(library, name); found != nullptr) return found;  // it stays loaded
    ::dlclose(library);
  }
  cxx_library found;
  if (kept_library.load(detail::memory_order_relaxed) == nullptr) find_late(found);
  void* const module = kept_library.load(detail::memory_order_relaxed);
  return module != nullptr ? ::dlsym(module, name) : nullptr;
}

ASHLAR_COLD bool call_new_handler() {
  const auto get = library_of_program().get_new_handler;
  const std::new_handler make_room = get != nullptr ? get() : nullptr;
  if (make_room == nullptr) return false;
  make_room();
  return true;
}

ASHLAR_COLD void throw_bad_alloc() {
  const cxx_library library = library_of_program();
  if (!library.can_throw()) detail::panic("ashlar: out of memory in operator new, without a C++ library to throw");
  void* const exception = library.allocate(sizeof(std::bad_alloc));
  *static_cast<void**>(exception) = library.table + 2 * sizeof(void*);  // behind the offset and the type
  library.throw_it(exception, library.type, library.end);
  detail::end_process();
}

}  // namespace ashlar::drop_in
