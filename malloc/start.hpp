// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The start of libashlar.
#pragma once

#include <ashlar/base/config.hpp>

namespace ashlar::drop_in {

/// Effects: installs the handlers of forks and opens the fast paths, once. The first constructor calls it, in a static
/// program an entry before all constructors.
ASHLAR_OF_THIS_LIBRARY void start() noexcept;

}  // namespace ashlar::drop_in
