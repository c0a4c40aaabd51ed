# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the tests of `ashlar plan` need: a program to record, instances, and the compiler, for the tables it writes.
add_executable(plan_victim plan/victim.cpp)
target_compile_options(plan_victim PRIVATE -fno-sanitize=all -fno-builtin)
target_link_options(plan_victim PRIVATE -fno-sanitize=all)
target_link_libraries(plan_victim PRIVATE ashlar_warnings ${CMAKE_DL_LIBS})
target_compile_features(plan_victim PRIVATE cxx_std_20)
target_compile_definitions(test_cli PRIVATE
  "ASHLAR_PLAN_VICTIM=\"$<TARGET_FILE:plan_victim>\""
  "ASHLAR_PLAN_DATA=\"${PROJECT_SOURCE_DIR}/tests/data/planner\""
  "ASHLAR_COMPILER=\"${CMAKE_CXX_COMPILER}\""
  "ASHLAR_INCLUDE=\"${PROJECT_SOURCE_DIR}/include\"")
add_dependencies(test_cli plan_victim ashlar_record)
