// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Preconditions with a message about the caller's mistake: checked from level `checked` on, or always.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

[[noreturn]] ASHLAR_COLD inline void precondition_failed(const char* what) noexcept {
  report({.kind = fault::precondition, .what = what});
}

}  // namespace ashlar::ASHLAR_ABI::detail

// A precondition checked at every level: to continue would corrupt memory that does not belong to the caller.
#define ASHLAR_REQUIRE(condition, what)                                             \
  do {                                                                              \
    if (ASHLAR_UNLIKELY(!(condition))) ::ashlar::detail::precondition_failed(what); \
  } while (false)

// A precondition checked from level `checked` on.
#define ASHLAR_EXPECTS(condition, what)                                                                     \
  do {                                                                                                      \
    if constexpr (::ashlar::checking_level >= ::ashlar::checking::checked) ASHLAR_REQUIRE(condition, what); \
  } while (false)

// An internal invariant of ashlar, checked from level `checked` on.
#define ASHLAR_ASSERT(condition) ASHLAR_EXPECTS(condition, "internal: " #condition)
