// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operators new and delete that the standard defines by others, and free with a size: each calls the form that the
// loader finds for all of the program, which may have replaced it. A block of the program's operator new comes to its
// operator delete.
#include <cstddef>
#include <cstdlib>
#include <new>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>

#include "malloc/export.hpp"
#include "malloc/operator_forms.hpp"

// What a handler of exceptions needs of the C++ library, which a program in C has not.
__asm__(".weak __gxx_personality_v0, __cxa_begin_catch, __cxa_end_catch, _ZSt9terminatev, _Unwind_Resume");

extern "C" __attribute__((weak)) void* __cxa_begin_catch(void* exception) noexcept;

namespace ashlar::drop_in {

// Of blocks.hpp, whose heap is compiled without exceptions.
ASHLAR_OF_THIS_LIBRARY void deallocate_by_free(void* p) noexcept;
ASHLAR_OF_THIS_LIBRARY void deallocate_sized(void* p, std::size_t bytes, std::size_t alignment) noexcept;

namespace {

/// A nothrow form of the C++ library that the program has opened late.
template <class... Arguments>
class late_form {
public:
  constexpr explicit late_form(const char* name) noexcept : name_(name) {}

  /// Returns: the form, or null without such a library.
  [[nodiscard]] auto get() noexcept -> void* (*)(Arguments...) {
    void* found = found_.load(detail::memory_order_relaxed);
    if (found == nullptr) found_.store(found = find_in_late_library(name_), detail::memory_order_relaxed);
    return reinterpret_cast<void* (*)(Arguments...)>(found);
  }

private:
  const char* name_;
  detail::atomic<void*> found_ = nullptr;
};

using nothrow = const std::nothrow_t&;
constinit late_form<std::size_t, nothrow> late_new("_ZnwmRKSt9nothrow_t"), late_new_array("_ZnamRKSt9nothrow_t");
constinit late_form<std::size_t, std::align_val_t, nothrow> late_new_aligned("_ZnwmSt11align_val_tRKSt9nothrow_t"),
    late_new_array_aligned("_ZnamSt11align_val_tRKSt9nothrow_t");

/// Returns: what `make()` returns; null if it throws.
template <class... Form, class Make, class... Arguments>
[[nodiscard]] ASHLAR_INLINE void* without_throw(late_form<Form...>& late, Make make,
                                                const Arguments&... arguments) noexcept {
  if (ASHLAR_UNLIKELY(&::__cxa_begin_catch == nullptr))
    if (const auto form = late.get(); form != nullptr) return form(arguments...);
  try {
    return make();
  } catch (...) {
    return nullptr;
  }
}

/// Returns: whether a sized delete, or free, knows the size of its block. At level `fast` it would save nothing.
[[nodiscard]] ASHLAR_INLINE bool knows_sizes(const bool& is_served = served_forms.has_all) noexcept {
  return checking_level >= checking::checked && is_served;
}

template <class Function>
[[nodiscard]] bool is_same(Function* of_program, Function* of_library) noexcept {
  ASHLAR_IN_REGISTER(of_program);  // a compiler takes different names for different functions
  return of_program == of_library;
}

}  // namespace

// The forms of this file, under names that no program replaces.
__attribute__((alias("_ZnwmRKSt9nothrow_t"))) void* nothrow_of_library(std::size_t bytes, nothrow) noexcept;
__attribute__((alias("_ZnamRKSt9nothrow_t"))) void* nothrow_array_of_library(std::size_t bytes, nothrow) noexcept;
__attribute__((alias("_ZnamSt11align_val_t"))) void* new_array_aligned_of_library(std::size_t bytes, std::align_val_t);
__attribute__((alias("_ZdaPvSt11align_val_t"))) void delete_array_aligned_of_library(void* p,
                                                                                     std::align_val_t) noexcept;

constinit served served_forms;

ASHLAR_COLD void look_for_replaced_forms() noexcept {
  served_forms.has_new = is_same<void*(std::size_t)>(&::operator new, &new_of_library);
  served_forms.has_delete = is_same<void(void*) noexcept>(&::operator delete, &deallocate_by_free);
  if constexpr (checking_level < checking::checked) return;
  served_forms.has_free = is_same<void(void*) noexcept>(&::free, &deallocate_by_free);
  served_forms.has_all =
      served_forms.has_new && served_forms.has_delete &&
      is_same<void*(std::size_t)>(&::operator new[], &new_array_of_library) &&
      is_same<void*(std::size_t, nothrow) noexcept>(&::operator new, &nothrow_of_library) &&
      is_same<void*(std::size_t, nothrow) noexcept>(&::operator new[], &nothrow_array_of_library) &&
      is_same<void*(std::size_t, std::align_val_t)>(&::operator new, &new_aligned_of_library) &&
      is_same<void*(std::size_t, std::align_val_t)>(&::operator new[], &new_array_aligned_of_library) &&
      is_same<void(void*) noexcept>(&::operator delete[], &delete_array_of_library) &&
      is_same<void(void*, std::align_val_t) noexcept>(&::operator delete, &delete_aligned_of_library) &&
      is_same<void(void*, std::align_val_t) noexcept>(&::operator delete[], &delete_array_aligned_of_library);
}

}  // namespace ashlar::drop_in

namespace drop_in = ashlar::drop_in;

ASHLAR_EXPORT_REPLACED void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return ::operator new(bytes, alignment);
}

ASHLAR_EXPORT_REPLACED void* operator new(std::size_t bytes, const std::nothrow_t& t) noexcept {
  return drop_in::without_throw(drop_in::late_new, [=] { return ::operator new(bytes); }, bytes, t);
}
ASHLAR_EXPORT_REPLACED void* operator new[](std::size_t bytes, const std::nothrow_t& t) noexcept {
  return drop_in::without_throw(drop_in::late_new_array, [=] { return ::operator new[](bytes); }, bytes, t);
}
ASHLAR_EXPORT_REPLACED void* operator new(std::size_t bytes, std::align_val_t alignment,
                                          const std::nothrow_t& t) noexcept {
  return drop_in::without_throw(
      drop_in::late_new_aligned, [=] { return ::operator new(bytes, alignment); }, bytes, alignment, t);
}
ASHLAR_EXPORT_REPLACED void* operator new[](std::size_t bytes, std::align_val_t alignment,
                                            const std::nothrow_t& t) noexcept {
  return drop_in::without_throw(
      drop_in::late_new_array_aligned, [=] { return ::operator new[](bytes, alignment); }, bytes, alignment, t);
}

ASHLAR_EXPORT_REPLACED void operator delete[](void* p, std::align_val_t alignment) noexcept {
  ::operator delete(p, alignment);
}
ASHLAR_EXPORT_REPLACED void operator delete(void* p, const std::nothrow_t&) noexcept { ::operator delete(p); }
ASHLAR_EXPORT_REPLACED void operator delete[](void* p, const std::nothrow_t&) noexcept { ::operator delete[](p); }
ASHLAR_EXPORT_REPLACED void operator delete(void* p, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  ::operator delete(p, alignment);
}
ASHLAR_EXPORT_REPLACED void operator delete[](void* p, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  ::operator delete[](p, alignment);
}

extern "C" {

// As C23 has them.
ASHLAR_EXPORT void free_sized(void* p, std::size_t bytes) noexcept {
  if (drop_in::knows_sizes(drop_in::served_forms.has_free)) return drop_in::deallocate_sized(p, bytes, 1);
  ::free(p);
}
ASHLAR_EXPORT void free_aligned_sized(void* p, std::size_t alignment, std::size_t bytes) noexcept {
  if (drop_in::knows_sizes(drop_in::served_forms.has_free)) return drop_in::deallocate_sized(p, bytes, alignment);
  ::free(p);
}

}  // extern "C"

ASHLAR_EXPORT_REPLACED void operator delete(void* p, std::size_t bytes) noexcept {
  if (drop_in::knows_sizes()) return drop_in::deallocate_sized(p, bytes, 1);
  ::operator delete(p);
}
ASHLAR_EXPORT_REPLACED void operator delete[](void* p, std::size_t bytes) noexcept {
  if (drop_in::knows_sizes()) return drop_in::deallocate_sized(p, bytes, 1);
  ::operator delete[](p);
}
ASHLAR_EXPORT_REPLACED void operator delete(void* p, std::size_t bytes, std::align_val_t alignment) noexcept {
  if (drop_in::knows_sizes()) return drop_in::deallocate_sized(p, bytes, drop_in::value_of(alignment));
  ::operator delete(p, alignment);
}
ASHLAR_EXPORT_REPLACED void operator delete[](void* p, std::size_t bytes, std::align_val_t alignment) noexcept {
  if (drop_in::knows_sizes()) return drop_in::deallocate_sized(p, bytes, drop_in::value_of(alignment));
  ::operator delete[](p, alignment);
}
