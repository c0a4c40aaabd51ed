# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program that tells by which malloc it runs.
ashlar_test_program(RUN_VICTIM run_victim PROGRAM run/victim.cpp -fno-builtin)
target_compile_definitions(test_cli PRIVATE "ASHLAR_HAS_MALLOC=$<TARGET_EXISTS:ashlar_malloc>")
