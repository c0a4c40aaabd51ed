# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the tests of `ashlar replay` and `ashlar report` need: a writer of traces.
ashlar_test_program(SAMPLE_TRACE replay_sample_trace PROGRAM replay/sample_trace.cpp)
target_link_libraries(replay_sample_trace PRIVATE ashlar::ashlar)
