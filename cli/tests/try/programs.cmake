# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the tests of `ashlar try` need: a program to try, and a library to try it with.
add_executable(try_victim try/victim.cpp)
target_compile_options(try_victim PRIVATE -fno-sanitize=all -fno-builtin)
target_link_options(try_victim PRIVATE -fno-sanitize=all LINKER:--build-id)
target_link_libraries(try_victim PRIVATE ashlar_warnings)
target_compile_features(try_victim PRIVATE cxx_std_20)
# A library that can be preloaded on every machine: its malloc is glibc's.
add_library(try_preload MODULE try/preload.cpp)
target_compile_options(try_preload PRIVATE -fno-sanitize=all -fno-builtin)
target_link_options(try_preload PRIVATE -fno-sanitize=all)
target_link_libraries(try_preload PRIVATE ashlar_warnings)
target_compile_features(try_preload PRIVATE cxx_std_20)
target_compile_definitions(test_cli PRIVATE
  "ASHLAR_TRY_VICTIM=\"$<TARGET_FILE:try_victim>\""
  "ASHLAR_TRY_PRELOAD=\"$<TARGET_FILE:try_preload>\"")
add_dependencies(test_cli try_victim try_preload)
