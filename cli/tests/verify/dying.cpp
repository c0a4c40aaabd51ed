// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library that ends each program it is preloaded into, before `main`: by a signal, or with $VERIFY_DYING_STATUS.
#include <cstdlib>

namespace {

[[gnu::constructor]] void die() {
  if (const char* status = std::getenv("VERIFY_DYING_STATUS")) std::_Exit(std::atoi(status));
  std::abort();
}

}  // namespace
