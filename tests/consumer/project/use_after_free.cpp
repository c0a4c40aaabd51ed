// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program with a bug, which a sample of libashlar shows: it writes to a block after its free.
#include <cstdlib>

int main() {
  char* volatile block = static_cast<char*>(std::malloc(48));
  std::free(block);
  block[3] = 1;
}
