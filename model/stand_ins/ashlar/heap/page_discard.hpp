// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In the place of the shipped file: no page is given back.
#pragma once

#include <ashlar/base/config.hpp>

namespace ashlar::inline ASHLAR_ABI {

template <class Upstream>
struct page_discard {};

}  // namespace ashlar::inline ASHLAR_ABI
