// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program in C's part of C++ that is skipped where it opens no library.
#include "tests/support/loader.hpp"

int main() {
  ashlar_test::skip_without_loader();
  ::puts("opens libraries");
}
