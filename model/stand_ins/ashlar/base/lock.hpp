// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Wraps the shipped file: its spin lock becomes one of the checker's, since a search cannot spin.
#pragma once

#include <checker.hpp>

#pragma GCC system_header  // for include_next

#define spin_lock shipped_spin_lock
#include_next <ashlar/base/lock.hpp>
#undef spin_lock

namespace ashlar::ASHLAR_ABI {

using spin_lock = checker::mutex;

}  // namespace ashlar::ASHLAR_ABI
