# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program with planted remedies. It is optimised and has line numbers in every configuration, as its functions and
# lines are the expected answers; it stays free of sanitizers, which have an allocator of their own.
add_executable(advise_victim advise/victim.cpp)
target_compile_options(advise_victim PRIVATE -O1 -g -fno-sanitize=all)
target_link_options(advise_victim PRIVATE -fno-sanitize=all LINKER:--build-id)
target_include_directories(advise_victim PRIVATE "${PROJECT_SOURCE_DIR}")
target_link_libraries(advise_victim PRIVATE ashlar_warnings pthread ${CMAKE_DL_LIBS})
target_compile_features(advise_victim PRIVATE cxx_std_20)
target_compile_definitions(test_cli PRIVATE "ASHLAR_ADVISE_VICTIM=\"$<TARGET_FILE:advise_victim>\""
  "ASHLAR_ADVISE_VICTIM_SOURCE=\"${CMAKE_CURRENT_SOURCE_DIR}/advise/victim.cpp\""
  "ASHLAR_RULES_PAGE=\"${PROJECT_SOURCE_DIR}/docs/advise-rules.md\"")
add_dependencies(test_cli advise_victim ashlar_record)
