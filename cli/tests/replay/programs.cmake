# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the tests of `ashlar replay` and `ashlar report` need: a writer of traces.
add_executable(replay_sample_trace replay/sample_trace.cpp)
target_link_libraries(replay_sample_trace PRIVATE ashlar::ashlar ashlar_warnings)
target_compile_definitions(test_cli PRIVATE "ASHLAR_SAMPLE_TRACE=\"$<TARGET_FILE:replay_sample_trace>\"")
add_dependencies(test_cli replay_sample_trace)
