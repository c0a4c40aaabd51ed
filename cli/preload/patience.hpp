// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes a lock that may never be free again: its holder may be a thread that has ended or no longer runs.
#pragma once

#include <unistd.h>

#include "cli/preload/sleeping_lock.hpp"

namespace ashlar::recorder {

/// Effects: tries for at least a tenth of a second. Returns: whether the lock is held now.
[[nodiscard]] inline bool lock_patiently(sleeping_lock& lock) noexcept {
  for (int tries = 0; tries < 1000; ++tries) {
    if (lock.try_lock()) return true;
    usleep(100);
  }
  return false;
}

}  // namespace ashlar::recorder
