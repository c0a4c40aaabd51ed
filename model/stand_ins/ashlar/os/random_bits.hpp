// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Wraps the shipped file: time stands still, so that each execution can be repeated.
#pragma once

#include <cstdint>

#pragma GCC system_header  // for include_next

#define coarse_ms shipped_coarse_ms
#define fine_us shipped_fine_us
#include_next <ashlar/os/random_bits.hpp>
#undef coarse_ms
#undef fine_us

namespace ashlar::ASHLAR_ABI::detail {

[[nodiscard]] inline std::uint32_t coarse_ms() noexcept { return 0; }
[[nodiscard]] inline std::uint32_t fine_us() noexcept { return 0; }

}  // namespace ashlar::ASHLAR_ABI::detail
