/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Ends a program in C at the first condition that does not hold, and names it. */
#ifndef ASHLAR_TESTS_LIBASHLAR_EXPECT_H
#define ASHLAR_TESTS_LIBASHLAR_EXPECT_H

#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition)                                                             \
  do {                                                                                \
    if (!(condition)) {                                                               \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);         \
      exit(1);                                                                        \
    }                                                                                 \
  } while (0)

#endif
