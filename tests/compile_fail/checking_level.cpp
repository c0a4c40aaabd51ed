// error: ASHLAR_CHECKING is 0 \(fast\), 1 \(checked\) or 2 \(hardened\)
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A checking level that does not exist is refused.
#ifndef ASHLAR_CONTROL
#undef ASHLAR_CHECKING
#define ASHLAR_CHECKING 3
#endif
#include <ashlar/base/config.hpp>

int main() {}
