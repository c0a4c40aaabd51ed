# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program that takes memory from malloc, or past it.
ashlar_test_program(MEMORY_VICTIM memory_victim PROGRAM report/memory.cpp -fno-builtin)
