// error: no matching|could not convert|no viable|constraint
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table that lacks the value of an enumerator.
#include <ashlar/base/event.hpp>

enum class remedy {
  nothing,
  pool,
#ifndef ASHLAR_CONTROL
  arena
#endif
};

constexpr ashlar::detail::enum_table<remedy, const char*> names = {"nothing", "pool"};

int main() { return names[remedy::pool][0] == 'p' ? 0 : 1; }
