# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program to measure, which takes as long as it is told, and a library that ends it at once.
ashlar_test_program(VERIFY_VICTIM verify_victim PROGRAM verify/victim.cpp -fno-builtin)
ashlar_test_program(VERIFY_DYING verify_dying MODULE verify/dying.cpp)
