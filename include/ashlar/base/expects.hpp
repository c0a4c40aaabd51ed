// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Preconditions: a sentence about what the caller did, checked from level `checked` on, or always.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

[[noreturn]] ASHLAR_COLD inline void precondition_failed(const char* what) noexcept {
  report({.kind = fault::precondition, .what = what});
}

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar

// A precondition that no level removes: where going on would corrupt memory that is not the caller's.
#define ASHLAR_REQUIRE(condition, what)                                             \
  do {                                                                              \
    if (ASHLAR_UNLIKELY(!(condition))) ::ashlar::detail::precondition_failed(what); \
  } while (false)

// A precondition checked from level `checked` on.
#define ASHLAR_EXPECTS(condition, what)                                                                     \
  do {                                                                                                      \
    if constexpr (::ashlar::checking_level >= ::ashlar::checking::checked) ASHLAR_REQUIRE(condition, what); \
  } while (false)

// What ashlar itself promises; checked from level `checked` on.
#define ASHLAR_ASSERT(condition) ASHLAR_EXPECTS(condition, "internal: " #condition)
