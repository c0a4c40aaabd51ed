// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operators new and delete by which operator_forms.cpp has all others, and those for arrays, which stand for the
// former: as fast as these where the program has not replaced them.
#include <cstddef>
#include <new>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>

#include "malloc/blocks.hpp"
#include "malloc/call_stack.hpp"
#include "malloc/export.hpp"
#include "malloc/operator_forms.hpp"

namespace ashlar::drop_in {

namespace {

// Within the scope no handler runs.
[[nodiscard]] ASHLAR_NOINLINE void* allocate_for(const caller_frame& caller, std::size_t bytes,
                                                 std::size_t alignment) noexcept {
  const caller_scope within(caller);
  return alignment <= granule ? allocate_by_malloc(bytes) : allocate({bytes, alignment});
}

// As the standard has it: the handler makes room, or does not return, or there is none.
[[nodiscard]] ASHLAR_NOINLINE void* make_or_throw(std::size_t bytes, std::size_t alignment) {
  while (ashlar::is_power_of_two(alignment)) {
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

__attribute__((alias("_Znwm"))) void* new_of_library(std::size_t bytes);
__attribute__((alias("_ZnwmSt11align_val_t"))) void* new_aligned_of_library(std::size_t bytes, std::align_val_t);
__attribute__((alias("_Znam"))) void* new_array_of_library(std::size_t bytes);
__attribute__((alias("_ZdaPv"))) void delete_array_of_library(void* p) noexcept;
__attribute__((alias("free"))) void delete_aligned_of_library(void* p, std::align_val_t) noexcept;

}  // namespace ashlar::drop_in

namespace drop_in = ashlar::drop_in;

ASHLAR_EXPORT_REPLACED void* operator new(std::size_t bytes) { return drop_in::make(bytes); }
ASHLAR_EXPORT_REPLACED void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return drop_in::make_or_throw(bytes, drop_in::value_of(alignment));
}

// family.cpp is a part of the same translation unit.
ASHLAR_EXPORT_REPLACED_AS("free") void operator delete(void* p) noexcept;
ASHLAR_EXPORT_REPLACED_AS("free") void operator delete(void* p, std::align_val_t) noexcept;

ASHLAR_EXPORT_REPLACED void* operator new[](std::size_t bytes) {
  void* const p = drop_in::allocate_fast(bytes, drop_in::fast_paths.end_of_small_arrays);
  return ASHLAR_LIKELY(p != nullptr) ? p : ::operator new(bytes);
}
ASHLAR_EXPORT_REPLACED void operator delete[](void* p) noexcept {
  constexpr auto as_delete = [](void* q) noexcept { ::operator delete(q); };
  if constexpr (ashlar::checking_level != ashlar::checking::fast) return as_delete(p);
  ashlar::process_heap().deallocate_or(p, as_delete, drop_in::deallocate_remote,
                                       drop_in::fast_paths.sampled_bits_of_arrays);
}
