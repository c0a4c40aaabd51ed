// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Models that are compiled as one program, by their names: CMake writes the list.
#pragma once

#include <span>

namespace several {

struct named_model {
  const char* name;
  void (*run)();
};

/// Returns: those of this program.
std::span<const named_model> models();

}  // namespace several
