// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The result of `allocate_at_least` of an allocator: `std::allocation_result` if the standard library has it.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

// Equivalent of `std::allocation_result` of C++23: memory at `ptr` for `count` objects, all of it usable.
ASHLAR_STD_ALLOCATION_RESULT(template <class Pointer, class SizeType = std::size_t> struct allocation_result {
  Pointer ptr;
  SizeType count;
});

}  // namespace ashlar::ASHLAR_ABI::detail
