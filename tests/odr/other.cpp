// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The other translation unit defines the callees of main.cpp, and macros that headers of other libraries define.
#define I _Complex_I  // <complex.h>
#define emit          // Qt
#define foreach for
#define forever for (;;)
#define signals public
#define slots
#define Always 2  // Xlib
#define Bool int
#define None 0L
#define Status int
#define Success 0

#include "everything.hpp"

namespace odr {
std::size_t size_of(const ashlar::block& b);

std::size_t size_of(const ashlar::block& b) { return b.size; }
}  // namespace odr
