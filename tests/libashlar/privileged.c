/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Ends with 0 if it gets 64 MiB, with 1 if not. With an argument it is to be privileged: else it ends with 77. */
#include <stdlib.h>

#include <sys/auxv.h>

int main(int count, char** arguments) {
  void* volatile p;
  (void)arguments;
  if (count > 1 && getauxval(AT_SECURE) == 0) return 77;
  p = malloc((size_t)64 << 20);
  return p != NULL ? 0 : 1;
}
