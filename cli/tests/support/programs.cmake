# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A library to name addresses of.
ashlar_test_program(MANY_SYMBOLS support_many_symbols MODULE support/many_symbols.cpp)
