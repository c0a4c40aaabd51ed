# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Two builds of one program, optimised and with line numbers in every configuration.
ashlar_test_program(DIFF_EARLIER diff_earlier PROGRAM diff/program.cpp -O1 -g -fno-builtin)
ashlar_test_program(DIFF_LATER diff_later PROGRAM diff/program.cpp -O1 -g -fno-builtin -DASHLAR_LATER)
