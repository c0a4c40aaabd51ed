// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `allocate_at_least` of an allocator returns: the standard's type where the library has it.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

// As `std::allocation_result` of C++23: `count` objects have room at `ptr`, all of which may be used.
ASHLAR_STD_ALLOCATION_RESULT(template <class Pointer, class SizeType = std::size_t> struct allocation_result {
  Pointer ptr;
  SizeType count;
});

}  // namespace ASHLAR_ABI
}  // namespace ashlar
