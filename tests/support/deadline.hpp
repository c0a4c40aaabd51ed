// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A test that hangs must fail: this ends the process where a scope is not left in time.
#pragma once

#include <unistd.h>

#include "tests/support/build.hpp"

namespace ashlar_test {

/// One at a time. A forked child has none, so it sets its own.
class deadline {
public:
  explicit deadline(unsigned seconds) noexcept { ::alarm(has_tsan || has_asan ? 4 * seconds : seconds); }
  deadline(const deadline&) = delete;
  deadline& operator=(const deadline&) = delete;
  ~deadline() { ::alarm(0); }
};

}  // namespace ashlar_test
