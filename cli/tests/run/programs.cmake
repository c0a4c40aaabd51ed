# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program that tells by which malloc it runs. It stays free of sanitizers, which have an allocator of their own.
add_executable(run_victim run/victim.cpp)
target_compile_options(run_victim PRIVATE -fno-sanitize=all -fno-builtin)
target_link_options(run_victim PRIVATE -fno-sanitize=all)
target_link_libraries(run_victim PRIVATE ashlar_warnings ${CMAKE_DL_LIBS})
target_compile_features(run_victim PRIVATE cxx_std_20)
target_compile_definitions(test_cli PRIVATE "ASHLAR_RUN_VICTIM=\"$<TARGET_FILE:run_victim>\"")
add_dependencies(test_cli run_victim)
target_compile_definitions(test_cli PRIVATE "ASHLAR_HAS_MALLOC=$<TARGET_EXISTS:ashlar_malloc>")
