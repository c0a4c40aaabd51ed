# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the tests of `ashlar try`, and of what its texts and those of `ashlar replay` say, need.
find_package(fmt QUIET)
add_executable(try_victim try/victim.cpp)
target_compile_options(try_victim PRIVATE -fno-sanitize=all -fno-builtin)
target_link_options(try_victim PRIVATE -fno-sanitize=all)
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
foreach(source IN ITEMS replay/candidates replay/figures replay/findings replay/meaning replay/verdict replay/windows
        rounds/comparison_text support/table support/table_units
        try/prediction try/program try/reason try/sampler try/text try/trial)
  target_sources(test_cli PRIVATE "${PROJECT_SOURCE_DIR}/cli/${source}.cpp")
endforeach()
target_link_libraries(test_cli PRIVATE fmt::fmt)
add_dependencies(test_cli try_victim try_preload)
