# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the tests of `ashlar verify` need: a program that takes as long as it is told, and a library that ends it at once.
ashlar_test_program(VERIFY_VICTIM verify_victim PROGRAM verify/victim.cpp)
ashlar_test_program(VERIFY_DYING verify_dying MODULE verify/dying.cpp)
