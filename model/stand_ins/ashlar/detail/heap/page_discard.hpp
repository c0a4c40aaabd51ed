// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: no page is given back.
#pragma once

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

template <class Upstream>
struct page_discard {};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
