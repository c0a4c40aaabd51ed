// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The choice that the library around deep_binding.cpp makes for its process.
#pragma once

namespace ashlar::drop_in {

/// Returns: whether dlopen keeps RTLD_DEEPBIND, as the word `deepbind` of the variable ASHLAR asks for. Thread safety:
/// any thread.
[[nodiscard]] bool keeps_deep_binding() noexcept;

}  // namespace ashlar::drop_in
