// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In the place of the shipped file: the standard atomics of headers that take no policy are those that are watched.
#pragma once

#include <atomic>

#include <checker.hpp>

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

using std_atomics = checker::atomics;

}  // namespace ASHLAR_ABI
}  // namespace ashlar
