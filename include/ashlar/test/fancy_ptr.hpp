// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pointer class for tests of containers: code that assumes `T*` does not compile with it.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/face/offset_ptr.hpp>

namespace ashlar::ASHLAR_ABI::test {

/// The pointer of shared memory. A container that copies it byte by byte points to a wrong address.
template <class T>
using fancy_ptr = interprocess::offset_ptr<T>;

}  // namespace ashlar::ASHLAR_ABI::test
