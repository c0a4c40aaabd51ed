// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The clock of benches that time single calls.
#pragma once

#include <x86intrin.h>

#include <cstdint>

namespace bench {

// Reads the time stamp counter after all earlier instructions.
struct cycles {
  static std::uint64_t now() noexcept {
    unsigned which;
    const std::uint64_t read = __rdtscp(&which);
    _mm_lfence();
    return read;
  }
};

}  // namespace bench
