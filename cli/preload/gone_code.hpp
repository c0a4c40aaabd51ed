// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The places of unloaded code: a stack that passes through one of them later is another stack, though its addresses are
// the same.
#pragma once

#include <cstdint>
#include <span>

namespace ashlar::recorder {

/// Effects: what ran in [begin, end) is gone. Expects: no other thread calls it at the same time.
void add_gone_code(std::uint64_t begin, std::uint64_t end) noexcept;

/// Returns: a number that is another one after code at any of the addresses is gone. Complexity: O(frames * places);
/// O(1) while the program has unloaded nothing.
[[nodiscard]] std::uint64_t generation_of(std::span<const std::uint64_t> frames) noexcept;

}  // namespace ashlar::recorder
