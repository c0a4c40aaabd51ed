// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: headers without an atomics policy use the explorer's observed atomics.
#pragma once

#include <atomic>

#include <checker.hpp>

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

using std_atomics = checker::atomics;

}  // namespace ASHLAR_ABI
}  // namespace ashlar
