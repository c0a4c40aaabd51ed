// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The throwing operators new, and all operators delete. The C++ library has the nothrow ones, which call these inside a
// try block: only it can catch what a new_handler throws.
#include <cstddef>
#include <new>

#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

#include "malloc/bad_alloc.hpp"
#include "malloc/blocks.hpp"
#include "malloc/call_stack.hpp"
#include "malloc/export.hpp"

namespace ashlar::drop_in {

namespace {

[[nodiscard]] constexpr std::size_t value_of(std::align_val_t alignment) noexcept {
  return static_cast<std::size_t>(alignment);
}

// Within the scope no handler runs.
[[nodiscard]] ASHLAR_NOINLINE void* allocate_for(const caller_frame& caller, std::size_t bytes,
                                                 std::size_t alignment) noexcept {
  const caller_scope within(caller);
  return alignment <= granule ? allocate_by_malloc(bytes) : allocate_aligned(bytes, alignment);
}

// As the standard has it: the handler makes room, or does not return, or there is none.
[[nodiscard]] ASHLAR_NOINLINE void* make_or_throw(std::size_t bytes, std::size_t alignment) {
  while (detail::is_power_of_two(alignment)) {
    if (void* const p = allocate_for(ASHLAR_OWN_FRAME(), bytes, alignment)) return p;
    if (!call_new_handler()) break;
  }
  throw_bad_alloc();
}

[[nodiscard]] ASHLAR_INLINE void* make(std::size_t bytes) {
  void* const p = allocate_fast(bytes);
  return ASHLAR_LIKELY(p != nullptr) ? p : make_or_throw(bytes, granule);
}

}  // namespace

}  // namespace ashlar::drop_in

namespace drop_in = ashlar::drop_in;

ASHLAR_EXPORT void* operator new(std::size_t bytes) { return drop_in::make(bytes); }
ASHLAR_EXPORT_AS("_Znwm") void* operator new[](std::size_t bytes);
ASHLAR_EXPORT void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return drop_in::make_or_throw(bytes, drop_in::value_of(alignment));
}
ASHLAR_EXPORT_AS("_ZnwmSt11align_val_t") void* operator new[](std::size_t bytes, std::align_val_t alignment);

// family.cpp is a part of the same translation unit.
ASHLAR_EXPORT_AS("free") void operator delete(void* p) noexcept;
ASHLAR_EXPORT_AS("free") void operator delete[](void* p) noexcept;
ASHLAR_EXPORT_AS("free") void operator delete(void* p, const std::nothrow_t&) noexcept;
ASHLAR_EXPORT_AS("free") void operator delete[](void* p, const std::nothrow_t&) noexcept;
ASHLAR_EXPORT_AS("free") void operator delete(void* p, std::align_val_t) noexcept;
ASHLAR_EXPORT_AS("free") void operator delete[](void* p, std::align_val_t) noexcept;
ASHLAR_EXPORT_AS("free") void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept;
ASHLAR_EXPORT_AS("free") void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept;

ASHLAR_EXPORT void operator delete(void* p, std::size_t bytes) noexcept {
  drop_in::deallocate_sized(p, bytes, drop_in::granule);
}
ASHLAR_EXPORT_AS("_ZdlPvm") void operator delete[](void* p, std::size_t bytes) noexcept;
ASHLAR_EXPORT void operator delete(void* p, std::size_t bytes, std::align_val_t alignment) noexcept {
  drop_in::deallocate_sized(p, bytes, drop_in::value_of(alignment));
}
ASHLAR_EXPORT_AS("_ZdlPvmSt11align_val_t")
void operator delete[](void* p, std::size_t bytes, std::align_val_t alignment) noexcept;
