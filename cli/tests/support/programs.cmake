# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Libraries to name addresses of.
ashlar_test_program(MANY_INLINED support_many_inlined MODULE support/many_inlined.cpp -O1 -g)
ashlar_test_program(MANY_SYMBOLS support_many_symbols MODULE support/many_symbols.cpp)
