# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What every room's tests share: GoogleTest, its precompiled header, and one function that makes a test executable.
enable_testing()
include(GoogleTest)
include("${CMAKE_CURRENT_LIST_DIR}/googletest.cmake")

# The precompiled header is compiled once, here, and used by all.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/empty.cpp" CONTENT "")
add_library(ashlar_test_base OBJECT "${PROJECT_BINARY_DIR}/empty.cpp")
target_link_libraries(ashlar_test_base PUBLIC ashlar::ashlar ashlar_gtest_main ${CMAKE_DL_LIBS} PRIVATE ashlar_warnings)
# g++ does not see that GoogleTest's macros guard themselves against a dangling else, nor that a branch taken only for
# large blocks never meets the small one it has just inlined.
target_compile_options(ashlar_test_base PUBLIC
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-dangling-else;-Wno-array-bounds;-Wno-stringop-overflow>")
target_include_directories(ashlar_test_base PUBLIC "${PROJECT_SOURCE_DIR}")
target_precompile_headers(ashlar_test_base PRIVATE <gtest/gtest.h>)

# ashlar_add_tests(<room> <source>…): executable test_<room>, and one ctest entry `<room>.<suite>.<test>` for each test.
function(ashlar_add_tests room)
  if(NOT ARGN)
    return()
  endif()
  add_executable(test_${room} ${ARGN})
  target_link_libraries(test_${room} PRIVATE ashlar_test_base ashlar_warnings)
  target_precompile_headers(test_${room} REUSE_FROM ashlar_test_base)
  gtest_discover_tests(test_${room} TEST_PREFIX "${room}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    NO_PRETTY_TYPES NO_PRETTY_VALUES PROPERTIES TIMEOUT 300)
endfunction()
