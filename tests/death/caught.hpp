// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Misuse caught in the running process, so that thousands of misuses need no child each.
#pragma once

#include <csetjmp>
#include <optional>

#include <ashlar/base/error.hpp>

namespace ashlar_test {

namespace detail {

inline std::jmp_buf back;
inline ashlar::violation seen;

inline void leave_by_jump(const ashlar::violation& v) noexcept {
  seen = v;
  std::longjmp(back, 1);
}

}  // namespace detail

/// Returns: the report of `f`, or nothing. The handler jumps out of the report past all destructors, so neither `f` nor
/// the misused resource may hold a lock then.
template <class F>
[[nodiscard]] std::optional<ashlar::violation> caught_in(const F& f) {
  const ashlar::violation::handler before = ashlar::set_violation_handler(&detail::leave_by_jump);
  const bool reported = setjmp(detail::back) != 0;
  if (!reported) f();
  ashlar::set_violation_handler(before == &detail::leave_by_jump ? nullptr : before);
  if (!reported) return {};
  return detail::seen;
}

}  // namespace ashlar_test
