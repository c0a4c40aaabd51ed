// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reports about released pointers that are not live objects of their pool.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

inline constexpr const char* inside_an_object = "released a pointer into the middle of an object";
inline constexpr const char* freed_before = "released an object that is free";

[[noreturn]] ASHLAR_COLD inline void report_slot(fault kind, const char* what, const void* p, const void* pool,
                                                 std::size_t slot_bytes) noexcept {
  report({.kind = kind, .what = what, .pointer = p, .resource = pool, .size = slot_bytes});
}

/// Effects: reports a pointer that is not a slot of `pool`. The pointer is not read, so it may be any address.
[[noreturn]] ASHLAR_COLD inline void report_foreign_slot(const void* p, const void* pool,
                                                         std::size_t slot_bytes) noexcept {
  const cell_place place = process_slabs.find(p);
  if (place.owner == nullptr)
    report_slot(fault::invalid_free, "released a pointer that is not of this pool", p, pool, slot_bytes);
  report({.kind = fault::wrong_pool,
          .what = "released an object of another pool",
          .pointer = p,
          .resource = pool,
          .owner = place.owner,
          .size = place.cell_bytes});
}

}  // namespace ashlar::ASHLAR_ABI::detail
