// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// operator new and delete in all their forms, distinguished and noted.
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <new>

#include <dlfcn.h>

#include <ashlar/base/bits.hpp>

#include "cli/preload/interpose.hpp"
#include "malloc/opened_modules.hpp"

namespace ashlar::recorder {

namespace {

using trace::operation;

static_assert(sizeof(std::size_t) == 8, "the mangled names below are those of 64-bit programs");

template <class... Rest>
using next_new_form = next_symbol<void* (*)(std::size_t, Rest...)>;
template <class... Rest>
using next_delete_form = next_symbol<void (*)(void*, Rest...)>;
using nothrow = const std::nothrow_t&;

constinit next_new_form<> next_new("_Znwm");
constinit next_new_form<> next_new_array("_Znam");
constinit next_new_form<std::align_val_t> next_new_aligned("_ZnwmSt11align_val_t");
constinit next_new_form<std::align_val_t> next_new_array_aligned("_ZnamSt11align_val_t");
constinit next_new_form<nothrow> next_new_nothrow("_ZnwmRKSt9nothrow_t");
constinit next_new_form<nothrow> next_new_array_nothrow("_ZnamRKSt9nothrow_t");
constinit next_new_form<std::align_val_t, nothrow> next_new_aligned_nothrow("_ZnwmSt11align_val_tRKSt9nothrow_t");
constinit next_new_form<std::align_val_t, nothrow> next_new_array_aligned_nothrow("_ZnamSt11align_val_tRKSt9nothrow_t");
constinit next_delete_form<> next_delete("_ZdlPv");
constinit next_delete_form<> next_delete_array("_ZdaPv");
constinit next_delete_form<std::size_t> next_delete_sized("_ZdlPvm");
constinit next_delete_form<std::size_t> next_delete_array_sized("_ZdaPvm");
constinit next_delete_form<nothrow> next_delete_nothrow("_ZdlPvRKSt9nothrow_t");
constinit next_delete_form<nothrow> next_delete_array_nothrow("_ZdaPvRKSt9nothrow_t");
constinit next_delete_form<std::align_val_t> next_delete_aligned("_ZdlPvSt11align_val_t");
constinit next_delete_form<std::align_val_t> next_delete_array_aligned("_ZdaPvSt11align_val_t");
constinit next_delete_form<std::size_t, std::align_val_t> next_delete_sized_aligned("_ZdlPvmSt11align_val_t");
constinit next_delete_form<std::size_t, std::align_val_t> next_delete_array_sized_aligned("_ZdaPvmSt11align_val_t");
constinit next_delete_form<std::align_val_t, nothrow>
    next_delete_aligned_nothrow("_ZdlPvSt11align_val_tRKSt9nothrow_t");
constinit next_delete_form<std::align_val_t, nothrow>
    next_delete_array_aligned_nothrow("_ZdaPvSt11align_val_tRKSt9nothrow_t");

[[nodiscard]] const void* object_of(const void* address) noexcept {
  Dl_info info{};
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// The objects whose operator new is a malloc, and operator delete a free: objects of the C++ library and of malloc.
struct known_objects {
  const void* ours = object_of(&next_new);
  const void* none = nullptr;
  const void* cxx = object_of(next_definition("_ZSt15get_new_handlerv"));
  const void* malloc = object_of(next_definition("malloc"));

  /// Returns: whether the form is one of theirs, in front of the recorder and behind it.
  [[nodiscard]] bool have(const char* form) const noexcept {
    const void* const first = object_of(dlsym(RTLD_DEFAULT, form));
    const void* const next = object_of(next_definition(form));
    return first == ours && (next == none || next == cxx || next == malloc);
  }
};

/// The service of new and delete. By malloc and free, if all other definitions do the same: then new is noted as new,
/// and nothing else. By the next definitions, if the program brings one form of its own: forms of the C++ library call
/// it where the standard has it so.
bool choose_direct() noexcept {
  const inside_recorder inside;
  const known_objects known;
  for (const char* form : {"_Znwm",
                           "_Znam",
                           "_ZnwmSt11align_val_t",
                           "_ZnamSt11align_val_t",
                           "_ZnwmRKSt9nothrow_t",
                           "_ZnamRKSt9nothrow_t",
                           "_ZnwmSt11align_val_tRKSt9nothrow_t",
                           "_ZnamSt11align_val_tRKSt9nothrow_t",
                           "_ZdlPv",
                           "_ZdaPv",
                           "_ZdlPvm",
                           "_ZdaPvm",
                           "_ZdlPvRKSt9nothrow_t",
                           "_ZdaPvRKSt9nothrow_t",
                           "_ZdlPvSt11align_val_t",
                           "_ZdaPvSt11align_val_t",
                           "_ZdlPvmSt11align_val_t",
                           "_ZdaPvmSt11align_val_t",
                           "_ZdlPvSt11align_val_tRKSt9nothrow_t",
                           "_ZdaPvSt11align_val_tRKSt9nothrow_t"})
    if (!known.have(form)) return false;
  return true;
}

constinit std::atomic<int> direct{-1};

ASHLAR_INLINE bool is_direct() noexcept {
  const int known = direct.load(std::memory_order_relaxed);
  if (ASHLAR_LIKELY(known >= 0)) return known != 0;
  direct.store(choose_direct() ? 1 : 0, std::memory_order_relaxed);
  return direct.load(std::memory_order_relaxed) != 0;
}

/// Shows whether a record was noted between two moments.
struct place {
  const thread_log* log = self.log;
  std::uint32_t count = log == nullptr ? 0 : log->count.load(std::memory_order_relaxed);

  friend bool operator==(const place&, const place&) = default;
};

/// An unknown operator new may call malloc, which notes itself; only if it does not is the new noted.
template <class Call>
void* call_next(operation op, std::size_t bytes, std::uint8_t code, Call&& call) {
  const place before;
  void* const p = call();
  if (before == place{}) note_allocation(op, p, bytes, code);
  return p;
}

template <class Call>
void call_next_delete(operation op, void* p, std::size_t bytes, std::uint8_t code, Call&& call) noexcept {
  const std::uint64_t time = ticks();
  const place before;
  call();
  if (before == place{})
    note({.time = time,
          .address = reinterpret_cast<std::uintptr_t>(p),
          .size = bytes,
          .stack = stack_here(),
          .code = detail::trace_io::code_of(op),
          .alignment_code = code});
}

/// Returns: the function in a C++ library that dlopen loaded later, outside of our search order, or in a module that
/// has such a library in it.
void* find_in_loaded(const char* name) noexcept {
  const inside_recorder inside;
  void* found = nullptr;
  static_cast<void>(drop_in::open_module_that([&, ours = object_of(&next_new)](void* module) noexcept {
    void* const here = dlsym(module, name);
    if (here != nullptr && object_of(here) != ours) found = here;
    return found != nullptr;
  }));
  return found;
}

/// Out of memory, or a foreign definition: the library that defines operator new calls the handler and throws.
template <class Function, class... Arguments>
ASHLAR_COLD void* ask_next(operation op, next_symbol<Function>& next, std::size_t bytes, std::uint8_t code,
                           const Arguments&... rest) {
  Function function = next.get();
  if (function == nullptr) function = reinterpret_cast<Function>(find_in_loaded(next.name()));
  if (function == nullptr) std::abort();  // as in a program without a C++ library to throw for it
  return call_next(op, bytes, code, [&] { return function(bytes, rest...); });
}

/// Returns: the block, noted; null if malloc has none or must not be called.
ASHLAR_INLINE void* make_directly(operation op, std::size_t bytes) noexcept {
  if (ASHLAR_UNLIKELY(!is_direct())) return nullptr;
  void* const p = real.malloc(bytes == 0 ? 1 : bytes);
  if (ASHLAR_LIKELY(p != nullptr)) note_allocation(op, p, bytes);
  return p;
}

void* make_directly(operation op, std::size_t bytes, std::align_val_t value) noexcept {
  const auto alignment = static_cast<std::size_t>(value);
  if (!is_direct() || !detail::is_valid_request(bytes, alignment)) return nullptr;
  const std::size_t least = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  void* const p = real.aligned_alloc(least, detail::align_up(bytes == 0 ? 1 : bytes, least));
  if (p != nullptr) note_allocation(op, p, bytes, detail::trace_io::alignment_code_of(alignment));
  return p;
}

std::uint8_t code_of(std::align_val_t value) noexcept {
  return detail::trace_io::alignment_code_of(static_cast<std::size_t>(value));
}

/// Effects: frees a block, noted with `bytes`, 0 where they are unknown; `rest` are the further arguments of the form.
template <class... Form, class... Rest>
ASHLAR_INLINE void unmake(operation op, next_delete_form<Form...>& next, void* p, std::size_t bytes, std::uint8_t code,
                          const Rest&... rest) noexcept {
  if (p == nullptr || in_bootstrap(p)) return;
  if (ASHLAR_LIKELY(is_direct())) {
    note_release(op, p, bytes, code);
    real.free(p);
  } else {
    call_next_delete(op, p, bytes, code, [&] { next.get()(p, rest...); });
  }
}

}  // namespace

}  // namespace ashlar::recorder

namespace recorder = ashlar::recorder;
using ashlar::trace::operation;

ASHLAR_EXPORT void* operator new(std::size_t n) {
  if (void* const p = recorder::make_directly(operation::new_, n)) return p;
  return recorder::ask_next(operation::new_, recorder::next_new, n, 0);
}

ASHLAR_EXPORT void* operator new[](std::size_t n) {
  if (void* const p = recorder::make_directly(operation::new_array_, n)) return p;
  return recorder::ask_next(operation::new_array_, recorder::next_new_array, n, 0);
}

ASHLAR_EXPORT void* operator new(std::size_t n, const std::nothrow_t& t) noexcept {
  if (void* const p = recorder::make_directly(operation::new_, n)) return p;
  return recorder::ask_next(operation::new_, recorder::next_new_nothrow, n, 0, t);
}

ASHLAR_EXPORT void* operator new[](std::size_t n, const std::nothrow_t& t) noexcept {
  if (void* const p = recorder::make_directly(operation::new_array_, n)) return p;
  return recorder::ask_next(operation::new_array_, recorder::next_new_array_nothrow, n, 0, t);
}

ASHLAR_EXPORT void* operator new(std::size_t n, std::align_val_t a) {
  if (void* const p = recorder::make_directly(operation::new_, n, a)) return p;
  return recorder::ask_next(operation::new_, recorder::next_new_aligned, n, recorder::code_of(a), a);
}

ASHLAR_EXPORT void* operator new[](std::size_t n, std::align_val_t a) {
  if (void* const p = recorder::make_directly(operation::new_array_, n, a)) return p;
  return recorder::ask_next(operation::new_array_, recorder::next_new_array_aligned, n, recorder::code_of(a), a);
}

ASHLAR_EXPORT void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t& t) noexcept {
  if (void* const p = recorder::make_directly(operation::new_, n, a)) return p;
  return recorder::ask_next(operation::new_, recorder::next_new_aligned_nothrow, n, recorder::code_of(a), a, t);
}

ASHLAR_EXPORT void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t& t) noexcept {
  if (void* const p = recorder::make_directly(operation::new_array_, n, a)) return p;
  return recorder::ask_next(operation::new_array_, recorder::next_new_array_aligned_nothrow, n, recorder::code_of(a), a,
                            t);
}

ASHLAR_EXPORT void operator delete(void* p) noexcept {
  recorder::unmake(operation::delete_, recorder::next_delete, p, 0, 0);
}
ASHLAR_EXPORT void operator delete[](void* p) noexcept {
  recorder::unmake(operation::delete_array_, recorder::next_delete_array, p, 0, 0);
}
ASHLAR_EXPORT void operator delete(void* p, std::size_t n) noexcept {
  recorder::unmake(operation::delete_, recorder::next_delete_sized, p, n, 0, n);
}
ASHLAR_EXPORT void operator delete[](void* p, std::size_t n) noexcept {
  recorder::unmake(operation::delete_array_, recorder::next_delete_array_sized, p, n, 0, n);
}
ASHLAR_EXPORT void operator delete(void* p, const std::nothrow_t& t) noexcept {
  recorder::unmake(operation::delete_, recorder::next_delete_nothrow, p, 0, 0, t);
}
ASHLAR_EXPORT void operator delete[](void* p, const std::nothrow_t& t) noexcept {
  recorder::unmake(operation::delete_array_, recorder::next_delete_array_nothrow, p, 0, 0, t);
}
ASHLAR_EXPORT void operator delete(void* p, std::align_val_t a) noexcept {
  recorder::unmake(operation::delete_, recorder::next_delete_aligned, p, 0, recorder::code_of(a), a);
}
ASHLAR_EXPORT void operator delete[](void* p, std::align_val_t a) noexcept {
  recorder::unmake(operation::delete_array_, recorder::next_delete_array_aligned, p, 0, recorder::code_of(a), a);
}
ASHLAR_EXPORT void operator delete(void* p, std::size_t n, std::align_val_t a) noexcept {
  recorder::unmake(operation::delete_, recorder::next_delete_sized_aligned, p, n, recorder::code_of(a), n, a);
}
ASHLAR_EXPORT void operator delete[](void* p, std::size_t n, std::align_val_t a) noexcept {
  recorder::unmake(operation::delete_array_, recorder::next_delete_array_sized_aligned, p, n, recorder::code_of(a), n,
                   a);
}
ASHLAR_EXPORT void operator delete(void* p, std::align_val_t a, const std::nothrow_t& t) noexcept {
  recorder::unmake(operation::delete_, recorder::next_delete_aligned_nothrow, p, 0, recorder::code_of(a), a, t);
}
ASHLAR_EXPORT void operator delete[](void* p, std::align_val_t a, const std::nothrow_t& t) noexcept {
  recorder::unmake(operation::delete_array_, recorder::next_delete_array_aligned_nothrow, p, 0, recorder::code_of(a), a,
                   t);
}
