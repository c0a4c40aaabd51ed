# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the tests of `ashlar plan` need: a program to record, and the compiler, for the tables it writes.
ashlar_test_program(PLAN_VICTIM plan_victim PROGRAM plan/victim.cpp -fno-builtin)
target_compile_definitions(test_cli PRIVATE
  "ASHLAR_COMPILER=\"${CMAKE_CXX_COMPILER}\""
  "ASHLAR_INCLUDE=\"${PROJECT_SOURCE_DIR}/include\"")
