// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The umbrella alone: WASI has neither files nor threads for the other headers.
#include <ashlar/ashlar.hpp>
