// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The other translation unit: it defines what main.cpp calls.
#include "everything.hpp"

namespace odr {
std::size_t size_of(const ashlar::block& b);

std::size_t size_of(const ashlar::block& b) { return b.size; }
}  // namespace odr
