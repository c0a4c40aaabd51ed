// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code of cold_code.hpp.
#include "malloc/cold_code.hpp"

namespace ashlar::ASHLAR_ABI::detail {
ASHLAR_COLD_CODE()
}  // namespace ashlar::ASHLAR_ABI::detail
