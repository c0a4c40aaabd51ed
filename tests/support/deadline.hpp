// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ends the process when a scope is not left in time: a test that hangs must fail.
#pragma once

#include <unistd.h>

namespace ashlar_test {

/// One at a time. A forked child has none, so it sets its own. A machine may be many times slower than usual for
/// minutes, so no test chooses a time by what it usually takes.
class deadline {
public:
  explicit deadline(unsigned seconds = 300) noexcept { ::alarm(seconds); }
  deadline(const deadline&) = delete;
  deadline& operator=(const deadline&) = delete;
  ~deadline() { ::alarm(0); }
};

}  // namespace ashlar_test
