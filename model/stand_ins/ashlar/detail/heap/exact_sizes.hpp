// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: no model has level hardened, which keeps the sizes of requests.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/segment.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

[[nodiscard]] inline std::size_t class_of_block(const void* p) noexcept { return segment::owner_of(p); }

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
