# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the tests of `ashlar verify` need: a program that takes as long as it is told, and a library that ends it at once.
add_executable(verify_victim verify/victim.cpp)
target_include_directories(verify_victim PRIVATE "${PROJECT_SOURCE_DIR}")
target_link_libraries(verify_victim PRIVATE ashlar_warnings ${CMAKE_DL_LIBS})
target_compile_features(verify_victim PRIVATE cxx_std_20)
add_library(verify_dying MODULE verify/dying.cpp)
target_compile_options(verify_dying PRIVATE -fno-sanitize=all)
target_link_options(verify_dying PRIVATE -fno-sanitize=all)
target_link_libraries(verify_dying PRIVATE ashlar_warnings)
target_compile_features(verify_dying PRIVATE cxx_std_20)
target_compile_definitions(test_cli PRIVATE
  "ASHLAR_VERIFY_VICTIM=\"$<TARGET_FILE:verify_victim>\""
  "ASHLAR_VERIFY_DYING=\"$<TARGET_FILE:verify_dying>\"")
add_dependencies(test_cli verify_victim verify_dying)
