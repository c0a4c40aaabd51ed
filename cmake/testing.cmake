# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The common part of all tests: GoogleTest, its precompiled header, and one function that makes a test executable.
enable_testing()
include(GoogleTest)
include("${CMAKE_CURRENT_LIST_DIR}/googletest.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/batches.cmake")

# The precompiled header is compiled here, once for all tests.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/empty.cpp" CONTENT "")
add_library(ashlar_test_base OBJECT "${PROJECT_BINARY_DIR}/empty.cpp")
target_link_libraries(ashlar_test_base PUBLIC ashlar::ashlar ashlar_gtest_main ${CMAKE_DL_LIBS} PRIVATE ashlar_warnings)
# g++ does not see that GoogleTest's macros guard themselves against a dangling else, nor that a branch for large blocks
# never applies to the small block inlined before. It notes a change of the ABI in GCC 4.6.
target_compile_options(ashlar_test_base PUBLIC
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-dangling-else;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-psabi>")
target_include_directories(ashlar_test_base PUBLIC "${PROJECT_SOURCE_DIR}")
target_precompile_headers(ashlar_test_base PRIVATE <gtest/gtest.h> <algorithm> <array> <atomic> <chrono> <list> <map>
  <memory_resource> <mutex> <random> <set> <span> <string> <thread> <unordered_map> <vector>)
if(WIN32)
  target_precompile_headers(ashlar_test_base PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/killed_by_signal.hpp")
endif()

# A process for each test shows best which one failed. Starting thousands of processes is the main cost under a
# sanitizer, so the configurations of `./dev test` run a room in a few processes, each with a share of its tests.
option(ASHLAR_TESTS_BY_ROOM "Run the tests of a room in a few processes" OFF)

# ashlar_discover_tests(<room>): ctest entries for the GoogleTests of test_<room>, `<room>.<suite>.<test>` for each, or
# `<room>.<share>` for each share. A share writes its results to gtest/<room>.<share>.xml.
function(ashlar_discover_tests room)
  if(NOT ASHLAR_TESTS_BY_ROOM)
    gtest_discover_tests(test_${room} TEST_PREFIX "${room}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 300
      NO_PRETTY_TYPES NO_PRETTY_VALUES PROPERTIES TIMEOUT 900)
    return()
  endif()
  set(shares 4)
  foreach(share RANGE 1 ${shares})
    math(EXPR index "${share} - 1")
    add_test(NAME ${room}.${share}
      COMMAND test_${room} --gtest_brief=1 "--gtest_output=xml:${PROJECT_BINARY_DIR}/gtest/${room}.${share}.xml")
    set_tests_properties(${room}.${share} PROPERTIES TIMEOUT 900
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shares};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# Of typed suites and of long tests: see tests/support/build.hpp.
option(ASHLAR_TEST_FEWER_CASES "Test samples of what another configuration tests in full" OFF)
if(ASHLAR_TEST_FEWER_CASES)
  target_compile_definitions(ashlar_test_base PUBLIC ASHLAR_TEST_FEWER_CASES=1)
endif()

set(ASHLAR_TEST_ROOMS_READ "" CACHE STRING "Which rooms the compiler reads, to refuse what it does not like, and does not translate")
set(ASHLAR_TEST_ROOMS_OPTIMISED "" CACHE STRING "Which rooms of a build that is not optimised are")
option(ASHLAR_TEST_THREADS_ONLY "Build the test files that start threads, and no others" OFF)

# Test files for POSIX systems: they fork, or ask the system for what Windows has no words for.
set(ashlar_posix_includes "^#include (<(sys/.*|dlfcn|link|pthread|sched|signal|unistd)\\.h>|<csignal>|\"tests/support/(child|deadline|resident)\\.hpp\")")

# ashlar_read_tests(<room> <source>…): the sources and all templates that they use are looked at, and nothing is made.
function(ashlar_read_tests room)
  add_library(read_${room} OBJECT ${ARGN})
  target_link_libraries(read_${room} PRIVATE ashlar_test_base ashlar_warnings)
  target_compile_options(read_${room} PRIVATE -fsyntax-only)
  target_precompile_headers(read_${room} REUSE_FROM ashlar_test_base)
endfunction()

# ashlar_do_not_optimise(<target>): for thousands of thin instantiations, which compile several times as fast so. A
# precompiled header that is optimised does not serve it.
function(ashlar_do_not_optimise target)
  target_compile_options(${target} PRIVATE -O0)
  string(TOUPPER "CMAKE_CXX_FLAGS_${CMAKE_BUILD_TYPE}" of_type)
  if("${CMAKE_CXX_FLAGS} ${${of_type}}" MATCHES "-O0")
    target_precompile_headers(${target} REUSE_FROM ashlar_test_base)
  endif()
endfunction()

# ashlar_add_tests(<room> <source>…): executable test_<room> and its tests.
function(ashlar_add_tests room)
  set(sources ${ARGN})
  if(ASHLAR_TEST_THREADS_ONLY)
    ashlar_files_with(sources "^#include (<thread>|\"tests/(support/stress|study/replay_team)\\.hpp\")" ${ARGN})
  endif()
  if(WIN32)
    ashlar_files_with(posix "${ashlar_posix_includes}" ${ARGN})
    list(REMOVE_ITEM sources ${posix})
  endif()
  if(NOT sources)
    return()
  endif()
  ashlar_batches(${room} sources ${sources})
  if(room IN_LIST ASHLAR_TEST_ROOMS_READ)
    ashlar_read_tests(${room} ${sources})
    return()
  endif()
  add_executable(test_${room} ${sources})
  target_link_libraries(test_${room} PRIVATE ashlar_test_base ashlar_warnings)
  if(room IN_LIST ASHLAR_TEST_ROOMS_OPTIMISED)
    target_compile_options(test_${room} PRIVATE -O1)  # a precompiled header that is not optimised does not serve it
  else()
    target_precompile_headers(test_${room} REUSE_FROM ashlar_test_base)
  endif()
  ashlar_discover_tests(${room})
endfunction()

# Whether programs for Windows run under wine, which takes 3 seconds to start.
set(ashlar_emulated_windows OFF)
if(WIN32 AND CMAKE_CROSSCOMPILING_EMULATOR)
  set(ashlar_emulated_windows ON)
  add_executable(run_each "${PROJECT_SOURCE_DIR}/tests/support/run_each.cpp")
  target_compile_features(run_each PRIVATE cxx_std_20)
  target_link_libraries(run_each PRIVATE ashlar_warnings)
endif()

# ashlar_test_in_one_start(<room> <command>…): the test <room>.all runs the commands, one after another, in the folder of
# the build for this directory, in one start of wine. It names those that fail.
function(ashlar_test_in_one_start room)
  list(JOIN ARGN "\n" lines)
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${room}.commands" CONTENT "@lines@\n" @ONLY)
  add_test(NAME ${room}.all COMMAND run_each ${room}.commands WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  set_tests_properties(${room}.all PROPERTIES TIMEOUT 900)
endfunction()

# ashlar_tests_compile(): the tests of this directory start compilers, or what starts them.
function(ashlar_tests_compile)
  get_property(tests DIRECTORY PROPERTY TESTS)
  set_property(TEST ${tests} APPEND PROPERTY ENVIRONMENT ${ashlar_in_huge_pages})
endfunction()
