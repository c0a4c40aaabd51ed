// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ends the process when a scope is not left in time: a test that hangs must fail.
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
