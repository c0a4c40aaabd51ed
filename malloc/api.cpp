// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The blocks of ashlar_malloc.h, but for malloc and free, and the calls on all of the heap.
#include <cerrno>
#include <cstddef>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "malloc/ashlar_malloc.h"
#include "malloc/blocks.hpp"
#include "malloc/export.hpp"

namespace drop_in = ashlar::drop_in;

extern "C" {

ASHLAR_EXPORT int ashlar_abi_version() { return ASHLAR_MALLOC_ABI; }

ASHLAR_EXPORT const char* ashlar_level() {
  constexpr ashlar::detail::enum_table<ashlar::checking, const char*> names = {"fast", "checked", "hardened"};
  return names[ashlar::checking_level];
}

ASHLAR_EXPORT void* ashlar_zalloc(std::size_t bytes) { return drop_in::allocate_zeroed(bytes); }

ASHLAR_EXPORT void* ashlar_aligned_malloc(std::size_t bytes, std::size_t alignment) {
  if (!ashlar::detail::is_power_of_two(alignment)) return drop_in::refuse(EINVAL);
  return drop_in::allocate(drop_in::aligned(bytes, alignment));
}

ASHLAR_EXPORT void* ashlar_realloc(void* p, std::size_t bytes) {
  return drop_in::resize_block(p, bytes, drop_in::granule);
}

ASHLAR_EXPORT void ashlar_free_sized(void* p, std::size_t bytes, std::size_t alignment) {
  drop_in::deallocate_sized(p, bytes, alignment);
}

ASHLAR_EXPORT std::size_t ashlar_usable_size(const void* p) { return drop_in::usable_size(p); }

ASHLAR_EXPORT std::size_t ashlar_good_size(std::size_t bytes) { return drop_in::good_size(bytes, drop_in::granule); }

ASHLAR_EXPORT int ashlar_try_expand(void* p, std::size_t bytes) { return drop_in::try_expand(p, bytes) ? 1 : 0; }

ASHLAR_EXPORT void ashlar_thread_flush() { ashlar::process_heap().flush(); }

ASHLAR_EXPORT std::size_t ashlar_trim(std::size_t retain_bytes) { return ashlar::process_heap().trim(retain_bytes); }

}  // extern "C"
