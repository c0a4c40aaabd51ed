// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: no model inspects regions.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

enum class region_kind {};

struct heap_region {
  [[nodiscard]] static heap_region huge_block(const std::byte*, std::size_t, bool) noexcept { return {}; }
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
