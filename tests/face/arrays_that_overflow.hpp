// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The law of every allocator about arrays that overflow: they are refused, by the right exception, and touch nothing.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>

#include "tests/support/build.hpp"

namespace ashlar_test {

/// Effects: verifies requests around each boundary, compared with arithmetic of twice the width. `may_abort`: a request
/// of almost PTRDIFF_MAX reaches malloc, which ends the process under some tools.
template <class Allocator>
void refuses_arrays_that_overflow(Allocator numbers, [[maybe_unused]] bool may_abort = false) {
  constexpr std::size_t bytes = sizeof(typename Allocator::value_type);
  EXPECT_EQ(numbers.max_size(), ashlar::max_block_bytes / bytes);
#if defined(__cpp_exceptions)
  constexpr std::size_t top = std::numeric_limits<std::size_t>::max();
  for (const std::size_t boundary : {top / bytes, numbers.max_size(), top, top / 2})
    for (int off = -2; off <= 2; ++off) {
      const std::size_t n = boundary + static_cast<std::size_t>(off);
      if (n <= 2) continue;  // wrapped
      const long double exact = static_cast<long double>(n) * static_cast<long double>(bytes);
      if (exact > static_cast<long double>(ashlar::max_block_bytes)) {
        EXPECT_THROW(static_cast<void>(numbers.allocate(n)), std::bad_array_new_length) << n << " of " << bytes;
        EXPECT_THROW(static_cast<void>(numbers.allocate_at_least(n)), std::bad_array_new_length) << n;
      } else if (!may_abort || !huge_requests_abort) {
        EXPECT_THROW(static_cast<void>(numbers.allocate(n)), std::bad_alloc) << n << " of " << bytes;
      }
    }
#endif
}

}  // namespace ashlar_test
