// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One of two translation units that see every header and share a function on an ashlar type.
#include "everything.hpp"

namespace odr {
std::size_t size_of(const ashlar::block& b);
}

int main() { return odr::size_of({nullptr, 7}) == 7 ? 0 : 1; }
