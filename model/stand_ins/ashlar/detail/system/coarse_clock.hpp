// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: time stands still, so that each execution can be repeated.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

[[nodiscard]] inline std::uint32_t coarse_ms() noexcept { return 0; }

}  // namespace ashlar::ASHLAR_ABI::detail
